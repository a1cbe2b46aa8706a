/**
 * Contents of a far store kept on this machine, up to a number of bytes: what was read longest ago goes first. Any number of processes share the
 * folder. A file appears whole; whoever reads one checks its hash, and one that is damaged is as good as none.
 */
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { copyVerified, errorCode, removeLeftovers, sha256Of, temporaryName } from "./artifact-files.ts";
import { ArtifactError } from "./errors.ts";

/** A content larger than this share of the cache would push too much else out: it is not kept. */
const LARGEST_SHARE = 1 / 8;
/** What is left once something had to go, so that not every new content looks for room. */
const LEFT_SHARE = 0.9;
/** New bytes after which the folder is measured again: other processes fill it, too. */
const MEASURED_SHARE = 0.05;

export interface ArtifactCache {
  /** Whether a content of this size is kept at all. */
  keeps(bytes: number): boolean;
  /** Null where it is not kept, or damaged. */
  read(sha256: string): Promise<Uint8Array | null>;
  /** False where it is not kept, or damaged; `file` appears whole. */
  copyTo(sha256: string, file: string): Promise<boolean>;
  add(sha256: string, bytes: Uint8Array): Promise<void>;
}

/** Opens, and creates where needed. `most` = bytes; 0 keeps nothing. */
export async function openCache(folder: string, most: number): Promise<ArtifactCache> {
  const incoming = join(folder, "incoming");
  const fileOf = (sha256: string) => join(folder, sha256.slice(0, 2), sha256.slice(2));
  const keeps = (bytes: number) => most > 0 && bytes <= most * LARGEST_SHARE;
  if (most > 0) {
    await mkdir(incoming, { recursive: true });
    await removeLeftovers(incoming, Date.now());
  }
  let unmeasured = Number.POSITIVE_INFINITY;

  const used = async (sha256: string) => {
    const now = new Date();
    // Gone meanwhile: it was read all the same.
    await utimes(fileOf(sha256), now, now).catch(() => {});
  };
  const drop = (sha256: string) => rm(fileOf(sha256), { force: true });

  async function makeRoom(): Promise<void> {
    const files = await measured(folder);
    let total = files.reduce((sum, { bytes }) => sum + bytes, 0);
    unmeasured = 0;
    if (total <= most) return;
    for (const { path, bytes } of files.sort((a, b) => a.usedMs - b.usedMs)) {
      if (total <= most * LEFT_SHARE) return;
      await rm(path, { force: true });
      total -= bytes;
    }
  }

  return {
    keeps,
    async read(sha256) {
      const bytes = await readFile(fileOf(sha256)).catch((error) => {
        if (errorCode(error) === "ENOENT") return null;
        throw error;
      });
      if (bytes === null) return null;
      if (sha256Of(bytes) !== sha256) {
        await drop(sha256);
        return null;
      }
      await used(sha256);
      return bytes;
    },
    async copyTo(sha256, file) {
      try {
        const copied = await copyVerified(fileOf(sha256), sha256, file);
        if (copied) await used(sha256);
        return copied;
      } catch (error) {
        if (!(error instanceof ArtifactError && error.kind === "damaged")) throw error;
        await drop(sha256);
        return false;
      }
    },
    async add(sha256, bytes) {
      if (!keeps(bytes.byteLength)) return;
      const temporary = join(incoming, temporaryName());
      try {
        // Not synced: a file that a crash left half written is found by its hash.
        await writeFile(temporary, bytes, { flag: "wx" });
        await mkdir(dirname(fileOf(sha256)), { recursive: true });
        await rename(temporary, fileOf(sha256));
      } catch (error) {
        // The content is in the store: a full disk costs the cache alone.
        if (errorCode(error) !== "ENOSPC" && errorCode(error) !== "EDQUOT") throw error;
      } finally {
        await rm(temporary, { force: true });
      }
      unmeasured += bytes.byteLength;
      if (unmeasured > most * MEASURED_SHARE) await makeRoom();
    },
  };
}

async function measured(folder: string) {
  const files: { readonly path: string; readonly bytes: number; readonly usedMs: number }[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const found = await stat(path).catch(() => null);
    if (found) files.push({ path, bytes: found.size, usedMs: found.mtimeMs });
  }
  return files;
}
