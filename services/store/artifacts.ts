/**
 * Artifacts in a local folder, named by their content: `ab/cdef…` below it. A file under its final name is complete and durable, because
 * it gets that name only after its bytes are on disk; what a crash leaves is a file in `incoming/`, which the next open removes.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, readFile, rename, rm, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { ArtifactKind, ArtifactRef } from "../../core/artifact.ts";
import {
  artifactUri,
  type Content,
  copyVerified,
  damaged,
  errorCode,
  lengthOf,
  removeLeftovers,
  sha256Field,
  sha256Of,
  syncFolder,
  temporaryName,
  writeError,
  writeParts,
} from "./artifact-files.ts";
import { ArtifactError } from "./errors.ts";

export interface ArtifactStore {
  /**
   * Resolves when the content is durable, and is young again where it was there before: garbage collection leaves it alone until its caller
   * has recorded it. The same content gives the same reference, but for `kind`, whether it comes whole or in parts.
   */
  put(content: Content, kind: ArtifactKind): Promise<ArtifactRef>;
  /** Throws ArtifactError `missing` or `damaged`; never returns other bytes than were put. */
  get(ref: ArtifactRef): Promise<Uint8Array>;
  /** As `put`, of a file of any size, which is read as a stream. */
  putFile(file: string, kind: ArtifactKind): Promise<ArtifactRef>;
  /** Writes the content to `file`, which appears whole or not at all, as a stream. Throws as `get` does. */
  getFile(ref: ArtifactRef, file: string): Promise<void>;
  /** Local path of the content, for readers that want a file; only where the store has files. Nothing is verified. */
  path?(ref: ArtifactRef): string;
}

/** Where the parts of an artifact folder are. */
export function artifactFiles(folder: string) {
  return {
    incoming: join(folder, "incoming"),
    /** What garbage collection has taken out and not yet removed (`artifact-folder.ts`): still readable, since it may come back. */
    removing: join(folder, "removing"),
    content: (sha256: string): string => join(folder, sha256.slice(0, 2), sha256.slice(2)),
    removed: (sha256: string): string => join(folder, "removing", sha256),
  };
}

/** Opens, and creates where needed, an artifact folder. Throws ArtifactError `unwritable` or `disk-full`. */
export async function createLocalArtifacts(folder: string): Promise<ArtifactStore> {
  const { incoming, content: fileOf, removed } = artifactFiles(folder);
  try {
    await mkdir(incoming, { recursive: true });
    await removeLeftovers(incoming, Date.now());
  } catch (error) {
    throw writeError(error, folder);
  }
  /** `fill` writes a temporary file and says which file it becomes. */
  async function write(fill: (handle: FileHandle) => Promise<string>): Promise<void> {
    const temporary = join(incoming, temporaryName());
    try {
      const handle = await open(temporary, "wx", 0o644);
      let file: string;
      try {
        file = await fill(handle);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await mkdir(dirname(file), { recursive: true });
      // Whoever puts the same content at the same time replaces it by itself.
      await rename(temporary, file);
      await syncFolder(dirname(file));
      await syncFolder(folder);
    } catch (error) {
      throw writeError(error, folder);
    } finally {
      await rm(temporary, { force: true });
    }
  }

  /** False where there is no such file. */
  async function renew(file: string): Promise<boolean> {
    const now = new Date();
    return utimes(file, now, now).then(
      () => true,
      (error) => {
        if (errorCode(error) === "ENOENT") return false;
        throw writeError(error, folder);
      },
    );
  }

  /** Content of the file, or null where it is missing. Throws ArtifactError `damaged`. */
  async function read(sha256: string, file = fileOf(sha256)): Promise<Uint8Array | null> {
    const bytes = await readFile(file).catch((error) => {
      if (errorCode(error) === "ENOENT") return null;
      throw error;
    });
    if (bytes === null || sha256Of(bytes) === sha256) return bytes;
    throw damaged(file);
  }

  const missing = (ref: ArtifactRef) =>
    new ArtifactError(
      "missing",
      `artifact ${fileOf(ref.sha256)} (${ref.kind}, ${ref.bytes} bytes) is missing: restore it from a copy, or run the experiment again under another --name, which makes the same content anew`,
    );

  /** A damaged file is removed, so that the right content takes its place. */
  async function isIntact(sha256: string): Promise<boolean> {
    try {
      return (await read(sha256)) !== null;
    } catch (error) {
      if (!(error instanceof ArtifactError)) throw error;
      await rm(fileOf(sha256), { force: true });
      return false;
    }
  }

  return {
    async put(content, kind) {
      const sha256 = sha256Of(content);
      const file = fileOf(sha256);
      // Renewed before it is read: what was there after that is not removed any more.
      const intact = (await renew(file)) && (await isIntact(sha256));
      if (!intact)
        await write(async (handle) => {
          await writeParts(handle, content);
          return file;
        });
      return { uri: artifactUri(sha256), sha256, bytes: lengthOf(content), kind };
    },
    async putFile(given, kind) {
      const hash = createHash("sha256");
      let bytes = 0;
      let sha256 = "";
      // Copied in any case: what is hashed is then what is kept, whatever happens to the file meanwhile.
      await write(async (handle) => {
        for await (const part of createReadStream(given) as AsyncIterable<Buffer>) {
          hash.update(part);
          bytes += part.length;
          await handle.appendFile(part);
        }
        sha256 = hash.digest("hex");
        return fileOf(sha256);
      });
      return { uri: artifactUri(sha256), sha256, bytes, kind };
    },
    async get(ref) {
      const sha256 = sha256Field(ref);
      // Garbage collection may take the file out and put it back while it is looked for.
      const bytes = (await read(sha256)) ?? (await read(sha256, removed(sha256))) ?? (await read(sha256));
      if (bytes === null) throw missing(ref);
      return bytes;
    },
    async getFile(ref, file) {
      const sha256 = sha256Field(ref);
      const places = [fileOf(sha256), removed(sha256), fileOf(sha256)];
      for (const place of places) if (await copyVerified(place, sha256, file)) return;
      throw missing(ref);
    },
    path: (ref) => fileOf(sha256Field(ref)),
  };
}

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** Stores a JSON value, gzipped; equal values (same key order) give equal references. */
export async function putJson(
  store: ArtifactStore,
  value: unknown,
  kind: ArtifactKind,
): Promise<ArtifactRef> {
  // zlib writes no time into the header (mtime 0), so the bytes depend on the value and the level alone.
  return store.put(await compress(JSON.stringify(value), { level: 6 }), kind);
}

export async function getJson<T>(store: ArtifactStore, ref: ArtifactRef): Promise<T> {
  const text = (await decompress(await store.get(ref))).toString("utf8");
  return JSON.parse(text) as T;
}
