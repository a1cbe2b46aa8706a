/** The manifest of a tree inside a container: stamps from `find`, hashes only of files whose stamp moved. */
import { SandboxError } from "../runtime.ts";
import type { Manifest, TreeEntry } from "../tree/manifest.ts";
import { type Shell, utf8Fields } from "./files.ts";

/** Kernel time stamps tick every 1 to 10 ms; a stamp this much older than the next command cannot be written again. */
const TICK_MS = 50;

/** Before each path: programs take a file named `-` for their standard input. */
const HERE = "./";

const FIELDS = 7;
/** One field after the other, each ended by NUL: type, mode, size, inode and times, path, link target. */
export const FIND = String.raw`find . -xdev -mindepth 1 \( -type f -o -type l \) -printf '%y\0%m\0%s\0%i %C@ %T@\0%C@\0%P\0%l\0'`;

interface Found {
  readonly path: string;
  readonly type: "file" | "symlink";
  readonly executable: boolean;
  readonly bytes: number;
  readonly target: string;
  /** Everything that changes with the content. */
  readonly stamp: string;
  readonly changedMs: number;
}

/** Names that are not UTF-8 are no part of a tree. */
export function parseFound(output: Buffer, skip: ReadonlySet<string>): Found[] {
  const fields = utf8Fields(output);
  const found: Found[] = [];
  for (let at = 0; at + FIELDS <= fields.length; at += FIELDS) {
    const [type, mode, bytes, times, changed, path, target] = fields.slice(at, at + FIELDS);
    if (path === undefined || target === undefined || skip.has(path)) continue;
    found.push({
      path,
      type: type === "l" ? "symlink" : "file",
      executable: (Number.parseInt(mode!, 8) & 0o100) !== 0,
      bytes: Number(bytes),
      target,
      stamp: `${type} ${mode} ${bytes} ${times}`,
      changedMs: Number(changed) * 1000,
    });
  }
  return found;
}

interface Seen {
  readonly entry: TreeEntry;
  readonly stamp: string;
  readonly changedMs: number;
}

export interface ScannerOptions {
  readonly shell: Shell;
  /** Relative paths of mount points. */
  readonly skip: ReadonlySet<string>;
  /** No more than this can be in the tree. */
  readonly maxBytes: number;
}

export class BoxScanner {
  private readonly options: ScannerOptions;
  private seen = new Map<string, Seen>();
  /** When the first command after the last scan began; nothing changed before. */
  private quietUntilMs = Number.POSITIVE_INFINITY;
  private current: Manifest | undefined;

  constructor(options: ScannerOptions) {
    this.options = options;
  }

  /** A command is about to run: what was seen so far may change from now on. */
  disturb(nowMs: number): void {
    if (this.current !== undefined) this.quietUntilMs = nowMs;
    this.current = undefined;
  }

  /**
   * Takes the tree as it was just made for what it was made from: nothing is hashed. Throws SandboxError `boot` where `find` saw
   * something else. `extra` are files the manifest does not know (an image may hold more than was copied of it).
   */
  seed(output: Buffer, given: Manifest): { readonly extra: readonly string[] } {
    const found = parseFound(output, this.options.skip);
    const extra: string[] = [];
    for (const file of found) {
      const entry = given.get(file.path);
      if (entry === undefined) extra.push(file.path);
      else if (!agrees(file, entry)) throw notGiven(file.path);
      else this.seen.set(file.path, { entry, stamp: file.stamp, changedMs: file.changedMs });
    }
    if (this.seen.size < given.size)
      throw notGiven([...given.keys()].find((path) => !this.seen.has(path)) ?? "");
    this.current = extra.length === 0 ? given : undefined;
    return { extra };
  }

  async scan(): Promise<Manifest> {
    this.current ??= await this.look();
    return this.current;
  }

  private async look(): Promise<Manifest> {
    const { shell, skip, maxBytes } = this.options;
    const { stdout } = await shell(FIND, [], { outputBytes: maxBytes });
    const found = parseFound(stdout, skip);
    const known = (file: Found): Seen | undefined => {
      const before = this.seen.get(file.path);
      return before?.stamp === file.stamp && before.changedMs + TICK_MS < this.quietUntilMs
        ? before
        : undefined;
    };
    const fresh = found.filter((file) => file.type === "file" && known(file) === undefined);
    const hashes = await this.hash(fresh.map(({ path }) => path));
    const seen = new Map<string, Seen>();
    for (const file of found) {
      const entry = known(file)?.entry ?? entryOf(file, hashes.get(file.path));
      if (entry !== undefined) seen.set(file.path, { entry, stamp: file.stamp, changedMs: file.changedMs });
    }
    this.seen = seen;
    this.quietUntilMs = Number.POSITIVE_INFINITY;
    return new Map([...seen].map(([path, { entry }]) => [path, entry]));
  }

  /** Files that cannot be read are missing in the answer. */
  private async hash(paths: readonly string[]): Promise<Map<string, string>> {
    const hashes = new Map<string, string>();
    if (paths.length === 0) return hashes;
    const input = [argumentsOf(paths)];
    const { stdout } = await this.options.shell("exec xargs -0 sha256sum -z --", [], {
      input,
      outputBytes: this.options.maxBytes,
    });
    for (const line of utf8Fields(stdout))
      if (line !== undefined) hashes.set(line.slice(66 + HERE.length), line.slice(0, 64));
    return hashes;
  }

  /** Contents of files of the manifest last scanned. */
  async contents(paths: readonly string[], manifest: Manifest): Promise<Map<string, Buffer>> {
    const contents = new Map<string, Buffer>();
    if (paths.length === 0) return contents;
    const input = [argumentsOf(paths)];
    const { maxBytes, shell } = this.options;
    const { stdout } = await shell("exec xargs -0 cat --", [], { input, outputBytes: maxBytes });
    let at = 0;
    for (const path of paths) {
      const entry = manifest.get(path);
      const bytes = entry?.type === "file" ? entry.bytes : 0;
      contents.set(path, stdout.subarray(at, at + bytes));
      at += bytes;
    }
    if (at !== stdout.length)
      throw new SandboxError("lost", `the tree's files hold ${stdout.length} bytes where ${at} were seen`);
    return contents;
  }
}

/** For xargs. */
const argumentsOf = (paths: readonly string[]): Buffer =>
  Buffer.from(paths.map((path) => `${HERE}${path}\0`).join(""));

function entryOf(file: Found, sha256: string | undefined): TreeEntry | undefined {
  if (file.type === "symlink") return { type: "symlink", target: file.target };
  return sha256 === undefined
    ? undefined
    : { type: "file", sha256, executable: file.executable, bytes: file.bytes };
}

const agrees = (file: Found, entry: TreeEntry): boolean =>
  entry.type === "symlink"
    ? file.type === "symlink" && file.target === entry.target
    : file.type === "file" && file.bytes === entry.bytes && file.executable === entry.executable;

const notGiven = (path: string): SandboxError =>
  new SandboxError("boot", `the tree inside is not the one that was given: ${JSON.stringify(path)} differs`);
