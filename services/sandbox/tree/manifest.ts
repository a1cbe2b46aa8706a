/** What a working tree holds: a manifest of its files, kept current by stat, hashed only where something moved. */
import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { setImmediate as breathe } from "node:timers/promises";

export type TreeEntry =
  | { readonly type: "file"; readonly sha256: string; readonly executable: boolean; readonly bytes: number }
  | { readonly type: "symlink"; readonly target: string };

/** Path relative to the tree's root -> entry. Directories, sockets and pipes are no entries. */
export type Manifest = ReadonlyMap<string, TreeEntry>;

interface Seen {
  readonly entry: TreeEntry;
  /** Everything stat knows that changes with the content. */
  readonly stamp: string;
  /** False when the file changed so close to the scan that a later edit could leave the same stamp. */
  readonly settled: boolean;
}

/** Kernel time stamps tick every 1 to 10 ms; a stamp this much older than the scan cannot be written again. */
const TICK_NS = 50_000_000n;

/** Directory entries handled between two turns of the event loop. */
const ENTRIES_PER_TURN = 500;

export const sha256 = (bytes: Uint8Array | string): string =>
  createHash("sha256").update(bytes).digest("hex");

export interface ScanOptions {
  /** Relative paths that are not looked into (mount points). */
  readonly skip: ReadonlySet<string>;
}

/** A scanner remembers what it saw, so that a second scan only hashes files whose stamp moved. */
export class TreeScanner {
  private readonly root: string;
  private readonly skip: ReadonlySet<string>;
  private seen = new Map<string, Seen>();
  /** Bytes of all regular files at the last scan. */
  bytes = 0;

  constructor(root: string, options: ScanOptions) {
    this.root = root;
    this.skip = options.skip;
  }

  async scan(): Promise<Manifest> {
    const now = BigInt(Date.now()) * 1_000_000n;
    const next = new Map<string, Seen>();
    const manifest = new Map<string, TreeEntry>();
    const folders = [""];
    let handled = 0;
    let bytes = 0;
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      for (const item of readFolder(`${this.root}/${folder}`)) {
        if (++handled % ENTRIES_PER_TURN === 0) await breathe();
        const path = folder === "" ? item.name : `${folder}/${item.name}`;
        if (this.skip.has(path)) continue;
        if (item.isDirectory()) folders.push(path);
        else if (item.isFile() || item.isSymbolicLink()) {
          const seen = this.look(path, now);
          if (seen === undefined) continue;
          next.set(path, seen);
          manifest.set(path, seen.entry);
          if (seen.entry.type === "file") bytes += seen.entry.bytes;
        }
      }
    }
    this.seen = next;
    this.bytes = bytes;
    return manifest;
  }

  private look(path: string, now: bigint): Seen | undefined {
    const host = `${this.root}/${path}`;
    const stat = lstatSync(host, { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) return undefined;
    const stamp = `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs} ${stat.mode}`;
    const before = this.seen.get(path);
    if (before?.settled && before.stamp === stamp) return before;
    const entry = readEntry(host);
    return entry && { entry, stamp, settled: stat.ctimeNs + TICK_NS < now };
  }
}

function readFolder(path: string) {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch (error) {
    // A folder the agent made unreadable hides its content from the host as well when the host is not root.
    if (["ENOENT", "EACCES"].includes((error as NodeJS.ErrnoException).code ?? "")) return [];
    throw error;
  }
}

function readEntry(host: string): TreeEntry | undefined {
  try {
    const stat = lstatSync(host);
    if (stat.isSymbolicLink()) return { type: "symlink", target: readlinkSync(host) };
    if (!stat.isFile()) return undefined;
    const content = readFileSync(host);
    return {
      type: "file",
      sha256: sha256(content),
      executable: (stat.mode & 0o100) !== 0,
      bytes: content.length,
    };
  } catch (error) {
    if (["ENOENT", "EACCES"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

/** The manifest of a folder as it is now. */
export function scanTree(root: string, skip: ReadonlySet<string> = new Set()): Promise<Manifest> {
  return new TreeScanner(root, { skip }).scan();
}

/** sha256 over (path, mode, content) in path order; git's modes. */
export function hashManifest(manifest: Manifest): string {
  const hash = createHash("sha256");
  for (const path of [...manifest.keys()].sort()) {
    const entry = manifest.get(path)!;
    hash.update(
      entry.type === "symlink"
        ? `120000\0${path}\0${sha256(entry.target)}\n`
        : `${entry.executable ? "100755" : "100644"}\0${path}\0${entry.sha256}\n`,
    );
  }
  return hash.digest("hex");
}
