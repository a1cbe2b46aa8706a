/** Files that appear whole: how artifact stores name, hash, copy and clean up what they write to a disk. */
import { createHash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { type FileHandle, open, readdir, rename, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ArtifactRef } from "../../core/artifact.ts";
import { ArtifactError } from "./errors.ts";

const SHA256 = /^[0-9a-f]{64}$/;

/** A content, or parts of it that follow one another. */
export type Content = Uint8Array | readonly Uint8Array[];

export function partsOf(content: Content): readonly Uint8Array[] {
  return content instanceof Uint8Array ? [content] : content;
}

export function lengthOf(content: Content): number {
  return partsOf(content).reduce((sum, part) => sum + part.byteLength, 0);
}

/** Parts of one `writev`: IOV_MAX of Linux. */
const PARTS_AT_ONCE = 1024;

/** Writes all of it; a write that takes less than it was given goes on with the rest. */
export async function writeParts(handle: FileHandle, content: Content): Promise<void> {
  const parts = partsOf(content);
  for (let at = 0; at < parts.length; at += PARTS_AT_ONCE) {
    const some = parts.slice(at, at + PARTS_AT_ONCE);
    const { bytesWritten } = await handle.writev(some);
    await writeRest(handle, some, bytesWritten);
  }
}

async function writeRest(handle: FileHandle, parts: readonly Uint8Array[], written: number): Promise<void> {
  let skip = written;
  for (const part of parts) {
    if (skip < part.byteLength) await handle.writeFile(part.subarray(skip));
    skip = Math.max(0, skip - part.byteLength);
  }
}

export function sha256Of(content: Content): string {
  const hash = createHash("sha256");
  for (const part of partsOf(content)) hash.update(part);
  return hash.digest("hex");
}

/** `artifact:<sha256>`: says what, not where, so that a moved folder still resolves. */
export function artifactUri(sha256: string): string {
  return `artifact:${sha256}`;
}

export function sha256Field(ref: ArtifactRef): string {
  if (!SHA256.test(ref.sha256) || ref.uri !== artifactUri(ref.sha256))
    throw new ArtifactError(
      "reference",
      `artifact reference ${JSON.stringify(ref)}: expected sha256 as 64 hex digits and uri "artifact:<sha256>"`,
    );
  return ref.sha256;
}

export function errorCode(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

export function writeError(error: unknown, folder: string): unknown {
  const code = errorCode(error);
  if (code === "ENOSPC" || code === "EDQUOT")
    return new ArtifactError(
      "disk-full",
      `no space left for artifacts in ${folder}: free some, then try again; nothing was written`,
      { cause: error },
    );
  if (code === "EACCES" || code === "EROFS" || code === "EPERM" || code === "ENOTDIR")
    return new ArtifactError("unwritable", `cannot write artifacts in ${folder}: ${String(error)}`, {
      cause: error,
    });
  return error;
}

export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Age at which a leftover of a writer that cannot be asked about goes too: no put takes this long. */
const LEFTOVER_MS = 60 * 60 * 1000;

/** Names in `incoming/`: `<process id>@<host>@<random>`, so that an open can tell a crashed writer's file from a live one's. */
export function temporaryName(): string {
  return `${process.pid}@${hostname()}@${randomUUID()}`;
}

function writerIsDead(name: string): boolean {
  const [pid, host] = name.split("@");
  if (host !== hostname() || !/^\d+$/.test(pid ?? "")) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return errorCode(error) === "ESRCH";
  }
}

export async function removeLeftovers(incoming: string, now: number): Promise<void> {
  for (const name of await readdir(incoming)) {
    const file = join(incoming, name);
    const found = await stat(file).catch(() => null);
    if (found && (writerIsDead(name) || now - found.mtimeMs > LEFTOVER_MS)) await rm(file, { force: true });
  }
}

export function damaged(file: string): ArtifactError {
  return new ArtifactError(
    "damaged",
    `artifact ${file} is damaged: its content does not have the sha256 of its name; restore it from a copy, or make it anew: tadpole replay of the iteration that made it, or the experiment again under another --name`,
  );
}

/** False where there is no file at `from`; `to` appears only once its content is known to be right. */
export async function copyVerified(from: string, sha256: string, to: string): Promise<boolean> {
  const partial = `${to}.${temporaryName()}`;
  const hash = createHash("sha256");
  const hashed = new Transform({
    transform(part: Buffer, _, done) {
      hash.update(part);
      done(null, part);
    },
  });
  try {
    await pipeline(createReadStream(from), hashed, createWriteStream(partial, { flags: "wx", flush: true }));
    if (hash.digest("hex") !== sha256) throw damaged(from);
    await rename(partial, to);
    return true;
  } catch (error) {
    if (errorCode(error) === "ENOENT" && !(await exists(from))) return false;
    throw error;
  } finally {
    await rm(partial, { force: true });
  }
}

export async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
