/** Reads a tar archive of sources into memory, and refuses what would reach out of it. */
import { gunzipSync } from "node:zlib";
import { type ArchivedEntry, ArchiveError, untar } from "../sandbox/index.ts";
import { EnvironmentError } from "./errors.ts";
import type { Tree } from "./tree.ts";

/** A source package is far below; what is above was not meant to be one. */
const MAX_UNPACKED = 512 * 1024 * 1024;
const MAX_ENTRIES = 100_000;

interface Link {
  readonly path: string;
  readonly target: string;
}

function refuse(archive: string, entry: string, why: string): never {
  throw new EnvironmentError("install", `${archive}: entry ${JSON.stringify(entry)}: ${why}`);
}

/** The path without `./` and empty parts; refuses absolute paths, `..` and NUL. */
export function safePath(archive: string, path: string): string {
  if (path.startsWith("/") || path.includes("\\") || /^[a-z]:/i.test(path))
    refuse(archive, path, "expected a path inside the archive, found an absolute one");
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) refuse(archive, path, "expected a path inside the archive, found ..");
  return parts.join("/");
}

/** Where a link leads, relative to the archive's root; refuses what leads out. */
function linkTarget(archive: string, { path, target }: Link): string {
  if (target.startsWith("/")) refuse(archive, path, `links to ${target}, outside the archive`);
  const parts = path.split("/").slice(0, -1);
  for (const part of target.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined) refuse(archive, path, `links to ${target}, outside the archive`);
  }
  return parts.join("/");
}

function unzip(archive: string, bytes: Uint8Array): Uint8Array {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_UNPACKED });
  } catch (cause) {
    const why =
      (cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE"
        ? `unpacks to more than ${MAX_UNPACKED / 1024 / 1024} MB`
        : (cause as Error).message;
    throw new EnvironmentError("install", `${archive}: ${why}`, { cause });
  }
}

export interface Unpacked {
  readonly files: Tree;
  /** Those of them that may be run. */
  readonly programs: ReadonlySet<string>;
}

/** Regular files of a tar archive. Links to files inside become copies of them. Throws as `unpack`. */
export function readArchive(archive: string, packed: Uint8Array): Tree {
  return unpack(archive, packed).files;
}

/**
 * Regular files of a tar archive, gzipped or not, by their paths. Symbolic links to files inside become copies of them, unless they are left out. Throws
 * `EnvironmentError("install")`, naming archive and entry, for absolute paths, `..`, links that lead out, devices, pipes, and archives that unpack to
 * more than 512 MB or 100,000 entries; nothing is written anywhere.
 */
export function unpack(
  archive: string,
  packed: Uint8Array,
  options: { readonly withoutLinks?: boolean } = {},
): Unpacked {
  const bytes = unzip(archive, packed);
  const files = new Map<string, Uint8Array>();
  const programs = new Set<string>();
  const links: Link[] = [];
  let entries = 0;
  for (const { path: name, type, content, target, executable } of entriesOf(archive, bytes)) {
    if (++entries > MAX_ENTRIES)
      throw new EnvironmentError("install", `${archive}: more than ${MAX_ENTRIES} entries`);
    const path = safePath(archive, name);
    if (type === "file") {
      files.set(path, content);
      if (executable) programs.add(path);
    } else if (type === "hardlink") links.push({ path, target: `/${safePath(archive, target)}` });
    else if (type === "symlink") {
      if (!options.withoutLinks) links.push({ path, target: linkTarget(archive, { path, target }) });
    } else if (type === "other")
      refuse(archive, name, "expected a file, a folder or a link, found a device or a pipe");
  }
  return withLinks(files, programs, links);
}

function* entriesOf(archive: string, bytes: Uint8Array): Generator<ArchivedEntry> {
  try {
    yield* untar(bytes);
  } catch (cause) {
    if (!(cause instanceof ArchiveError)) throw cause;
    throw new EnvironmentError("install", `${archive}: ${cause.message}`, { cause });
  }
}

/** Links may lead to links; what leads to a folder or nowhere is left out. */
function withLinks(files: Map<string, Uint8Array>, programs: Set<string>, links: readonly Link[]): Unpacked {
  let open = links.map(({ path, target }) => ({ path, target: target.replace(/^\//, "") }));
  for (let left = open.length + 1; open.length < left; ) {
    left = open.length;
    open = open.filter(({ path, target }) => {
      const content = files.get(target);
      if (content !== undefined) files.set(path, content);
      if (programs.has(target)) programs.add(path);
      return content === undefined;
    });
  }
  return { files: new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1))), programs };
}
