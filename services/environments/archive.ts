/** Reads a tar archive of sources into memory, and refuses what would reach out of it. */
import { gunzipSync } from "node:zlib";
import { EnvironmentError } from "./errors.ts";
import type { Tree } from "./tree.ts";

/** A source package is far below; what is above was not meant to be one. */
const MAX_UNPACKED = 512 * 1024 * 1024;
const MAX_ENTRIES = 100_000;

const BLOCK = 512;

interface Link {
  readonly path: string;
  readonly target: string;
}

function refuse(archive: string, entry: string, why: string): never {
  throw new EnvironmentError("install", `${archive}: entry ${JSON.stringify(entry)}: ${why}`);
}

/** Bytes up to the first NUL, as text. */
function text(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return Buffer.from(end === -1 ? bytes : bytes.subarray(0, end)).toString("utf8");
}

/** Octal, or GNU's base 256 for what octal cannot hold. */
function number(bytes: Uint8Array): number {
  if ((bytes[0]! & 0x80) === 0) return Number.parseInt(text(bytes).trim() || "0", 8);
  let value = bytes[0]! & 0x7f;
  for (const byte of bytes.subarray(1)) value = value * 256 + byte;
  return value;
}

/** `<length> <key>=<value>\n` records of a pax header. */
function paxRecords(bytes: Uint8Array): Map<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const length = Number.parseInt(Buffer.from(bytes.subarray(at, space)).toString("latin1"), 10);
    if (space === -1 || !(length > 0)) break;
    const record = Buffer.from(bytes.subarray(space + 1, at + length - 1)).toString("utf8");
    const equals = record.indexOf("=");
    records.set(record.slice(0, equals), record.slice(equals + 1));
    at += length;
  }
  return records;
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
  let pax = new Map<string, string>();
  let longName: string | undefined;
  let longLink: string | undefined;
  let entries = 0;
  for (let at = 0; at + BLOCK <= bytes.length; ) {
    const header = bytes.subarray(at, at + BLOCK);
    if (header.every((byte) => byte === 0)) break;
    if (!isHeader(header))
      throw new EnvironmentError("install", `${archive}: no tar archive, or a damaged one`);
    if (++entries > MAX_ENTRIES)
      throw new EnvironmentError("install", `${archive}: more than ${MAX_ENTRIES} entries`);
    const prefix = text(header.subarray(257, 263)) === "ustar" ? text(header.subarray(345, 500)) : "";
    const short = text(header.subarray(0, 100));
    const name = pax.get("path") ?? longName ?? (prefix === "" ? short : `${prefix}/${short}`);
    const size = Number(pax.get("size") ?? number(header.subarray(124, 136)));
    const start = at + BLOCK;
    if (!(size >= 0 && start + size <= bytes.length))
      throw new EnvironmentError("install", `${archive}: ends in the middle of ${JSON.stringify(name)}`);
    const content = bytes.subarray(start, start + size);
    at = start + Math.ceil(size / BLOCK) * BLOCK;
    const type = String.fromCharCode(header[156]!);
    if (type === "x") pax = paxRecords(content);
    else if (type === "L") longName = text(content);
    else if (type === "K") longLink = text(content);
    if ("xgLK".includes(type)) continue;
    const path = safePath(archive, name);
    const target = pax.get("linkpath") ?? longLink ?? text(header.subarray(157, 257));
    if (type === "0" || type === "\0" || type === "7") {
      files.set(path, content);
      if ((number(header.subarray(100, 108)) & 0o111) !== 0) programs.add(path);
    } else if (type === "1") links.push({ path, target: `/${safePath(archive, target)}` });
    else if (type === "2") {
      if (!options.withoutLinks) links.push({ path, target: linkTarget(archive, { path, target }) });
    } else if (type !== "5")
      refuse(archive, name, "expected a file, a folder or a link, found a device or a pipe");
    [pax, longName, longLink] = [new Map(), undefined, undefined];
  }
  return withLinks(files, programs, links);
}

/** A header's sum of bytes, its own field read as spaces, is in that field. */
function isHeader(header: Uint8Array): boolean {
  let sum = 0;
  for (const [at, byte] of header.entries()) sum += at >= 148 && at < 156 ? 0x20 : byte;
  return sum === number(header.subarray(148, 156));
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
