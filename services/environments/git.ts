/** Files of a commit of a git repository, without its history. */
import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { safePath } from "./archive.ts";
import { EnvironmentError } from "./errors.ts";
import { environmentsFolder, moveIntoPlace, temporaryPath } from "./folders.ts";
import { runTool } from "./install.ts";
import type { GitSource } from "./sources.ts";
import type { Tree } from "./tree.ts";

/** Nothing of the user's settings and nothing a repository brings may run: no hooks, no prompts, no helper programs as transports. */
const ENV = {
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  // Its complaints are read.
  LC_ALL: "C",
  GIT_ALLOW_PROTOCOL: "file:git:http:https:ssh",
} as const;

const SAFE = ["-c", "core.hooksPath=/dev/null", "-c", "transfer.fsckObjects=true", "-c", "gc.auto=0"];

/** Blobs are read in one go; a repository of sources is far smaller. */
const MAX_BYTES = 512 * 1024 * 1024;

export interface FetchOptions {
  readonly dataFolder: string;
  readonly signal?: AbortSignal | undefined;
}

export function git(
  folder: string,
  args: readonly string[],
  { signal, input }: { readonly signal?: AbortSignal | undefined; readonly input?: Uint8Array },
): Promise<string> {
  const what = `git ${args[0]}`;
  const given = input === undefined ? {} : { input };
  return runTool("git", [...SAFE, ...args], { what, cwd: folder, env: ENV, signal, ...given });
}

/** A bare repository of this data folder for that address. It stays on the host: no sandbox is given any of it. */
async function mirror(repository: string, options: FetchOptions): Promise<string> {
  const name = `git-${createHash("sha256").update(repository).digest("hex").slice(0, 12)}`;
  const folder = join(environmentsFolder(options.dataFolder), "downloads", name);
  if (existsSync(join(folder, "HEAD"))) return folder;
  // Two that begin at once would write one file.
  const temporary = temporaryPath(join(folder, ".."), "mirror");
  await mkdir(temporary, { recursive: true });
  await git(temporary, ["init", "--quiet", "--bare"], options);
  await moveIntoPlace(temporary, folder, { replace: false });
  return folder;
}

/** The commit a ref names now, 40 hex digits. Throws `EnvironmentError("install")`. */
export async function resolveCommit(
  source: Pick<GitSource, "repository" | "ref">,
  options: FetchOptions,
): Promise<string> {
  // Asked first: what is no repository leaves no mirror.
  await git(tmpdir(), ["ls-remote", "--quiet", "--", source.repository, "HEAD"], options);
  const folder = await mirror(source.repository, options);
  // Not FETCH_HEAD: another fetch into the same mirror may write it in between.
  const fetched = `refs/fetched/${randomUUID()}`;
  await git(
    folder,
    ["fetch", "--quiet", "--force", "--no-tags", "--", source.repository, `${source.ref}:${fetched}`],
    options,
  );
  const commit = await git(folder, ["rev-parse", "--verify", "--quiet", `${fetched}^{commit}`], options);
  return commit.trim();
}

/** The mirror, with that commit and all before it; fetched where it has not got it yet. Throws `EnvironmentError("install")`. */
export async function mirrorOf(repository: string, commit: string, options: FetchOptions): Promise<string> {
  const folder = await mirror(repository, options);
  const known = await git(folder, ["cat-file", "-e", `${commit}^{commit}`], options).then(
    () => true,
    () => false,
  );
  if (!known) await fetchCommit(folder, repository, commit, options);
  return folder;
}

/** Also where the mirror has the commit and lacks one before it. Throws `EnvironmentError("install")`. */
export async function fetchCommit(
  folder: string,
  repository: string,
  commit: string,
  options: FetchOptions,
): Promise<void> {
  await git(folder, ["fetch", "--quiet", "--force", "--no-tags", "--", repository, commit], options);
}

/** Regular files of a commit. Links to files inside become copies of them; submodules are left out. */
export async function readCommit(repository: string, commit: string, options: FetchOptions): Promise<Tree> {
  const folder = await mirrorOf(repository, commit, options);
  const listed = await git(folder, ["ls-tree", "-r", "-l", "-z", "--full-tree", commit], options);
  const entries = listed.split("\0").flatMap((line) => {
    const [, mode, type, id, size, path] = /^(\d+) (\w+) ([0-9a-f]+) +(\d+|-)\t(.*)$/s.exec(line) ?? [];
    return type === "blob" ? [{ isLink: mode === "120000", id: id!, size: Number(size), path: path! }] : [];
  });
  if (entries.reduce((sum, { size }) => sum + size, 0) > MAX_BYTES)
    throw new EnvironmentError(
      "install",
      `${repository}@${commit}: more than ${MAX_BYTES / 1024 / 1024} MB of files`,
    );
  const contents = await readBlobs(
    folder,
    entries.map(({ id }) => id),
    options,
  );
  const files = new Map<string, Uint8Array>();
  const links: { readonly path: string; readonly target: string }[] = [];
  for (const [index, { isLink, path }] of entries.entries()) {
    const safe = safePath(`${repository}@${commit.slice(0, 12)}`, path);
    if (isLink) links.push({ path: safe, target: contents[index]!.toString("utf8") });
    else files.set(safe, contents[index]!);
  }
  for (const { path, target } of links) {
    const content = files.get(join(path, "..", target));
    if (content !== undefined) files.set(path, content);
  }
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Contents of blobs, in their order: `<id> blob <size>\n<content>\n` each. latin1 carries any bytes through a text. */
export async function readBlobs(
  folder: string,
  ids: readonly string[],
  options: FetchOptions,
): Promise<Buffer[]> {
  if (ids.length === 0) return [];
  const text = await runTool("git", ["cat-file", "--batch"], {
    cwd: folder,
    env: ENV,
    signal: options.signal,
    input: `${ids.join("\n")}\n`,
    encoding: "latin1",
  });
  const found: Buffer[] = [];
  for (let at = 0; found.length < ids.length; ) {
    const end = text.indexOf("\n", at);
    const size = Number(text.slice(at, end).split(" ")[2]);
    found.push(Buffer.from(text.slice(end + 1, end + 1 + size), "latin1"));
    at = end + 1 + size + 1;
  }
  return found;
}
