/**
 * Artifacts in an S3-compatible bucket, beside a cache on this machine (docs/store.md). The store compares what it receives with the content's hash;
 * whoever reads compares again, so that no other bytes than were put ever come back.
 */
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ArtifactRef } from "../../core/artifact.ts";
import { openCache } from "./artifact-cache.ts";
import { artifactUri, damaged, sha256Field, sha256Of, temporaryName, writeError } from "./artifact-files.ts";
import type { ArtifactStore } from "./artifacts.ts";
import { ArtifactError } from "./errors.ts";
import { openBucket, type S3Bucket, s3Error } from "./s3-bucket.ts";
import type { S3Settings } from "./s3-settings.ts";
import { changedMeanwhile, hashParts, PART_BYTES, uploadFile } from "./s3-upload.ts";

/** A content that comes in pieces may be cut so often before that is the store's fault. */
const CUTS = 5;

export interface S3Options {
  readonly cacheFolder: string;
  readonly cacheBytes: number;
  /** Contents above this go in parts of it; S3 takes no smaller ones than 5 MiB. */
  readonly partBytes?: number;
}

export interface S3Artifacts extends ArtifactStore {
  readonly bucket: S3Bucket;
}

/** Throws ArtifactError `unreachable` where the bucket cannot be read. */
export async function createS3Artifacts(settings: S3Settings, options: S3Options): Promise<S3Artifacts> {
  const { partBytes = PART_BYTES } = options;
  const bucket = openBucket(settings);
  await bucket.check();
  const cache = await openCache(options.cacheFolder, options.cacheBytes).catch((error) => {
    throw writeError(error, options.cacheFolder);
  });

  const refTo = (sha256: string, bytes: number, kind: ArtifactRef["kind"]): ArtifactRef => ({
    uri: artifactUri(sha256),
    sha256,
    bytes,
    kind,
  });
  const missing = ({ sha256, kind, bytes }: ArtifactRef) =>
    new ArtifactError(
      "missing",
      `artifact ${bucket.where(bucket.keyOf(sha256))} (${kind}, ${bytes} bytes) is missing: restore it from a copy, or run the experiment again under another --name, which makes the same content anew`,
    );

  /** The content as it comes. Where the connection is cut it goes on from there. Throws ArtifactError. */
  async function* contentOf(ref: ArtifactRef): AsyncGenerator<Buffer> {
    const { keyOf, removedKeyOf } = bucket;
    // Garbage collection may take it out and put it back while it is looked for.
    const keys = [keyOf(ref.sha256), removedKeyOf(ref.sha256), keyOf(ref.sha256)];
    let received = 0;
    for (let cuts = 0; ; cuts++) {
      let body: Readable | null = null;
      for (const key of keys) body ??= await bucket.get(key, received);
      if (body === null) throw missing(ref);
      try {
        for await (const part of body as AsyncIterable<Buffer>) {
          received += part.length;
          yield part;
        }
        return;
      } catch (error) {
        if (cuts === CUTS) throw s3Error(error, "get", bucket.name);
      }
    }
  }

  /** Null where what came has another hash. */
  async function fetched(ref: ArtifactRef): Promise<Uint8Array | null> {
    const parts: Buffer[] = [];
    for await (const part of contentOf(ref)) parts.push(part);
    const bytes = Buffer.concat(parts);
    return sha256Of(bytes) === ref.sha256 ? bytes : null;
  }

  /** Straight to the file, which appears only with the right content. */
  async function stream(ref: ArtifactRef, file: string): Promise<void> {
    const partial = `${file}.${temporaryName()}`;
    const hash = createHash("sha256");
    try {
      await pipeline(
        Readable.from(contentOf(ref)),
        async function* (parts: AsyncIterable<Buffer>) {
          for await (const part of parts) {
            hash.update(part);
            yield part;
          }
        },
        createWriteStream(partial, { flags: "wx", flush: true }),
      );
      if (hash.digest("hex") !== ref.sha256) throw damaged(bucket.where(bucket.keyOf(ref.sha256)));
      await rename(partial, file);
    } catch (error) {
      throw writeError(error, dirname(file));
    } finally {
      await rm(partial, { force: true });
    }
  }

  async function get(ref: ArtifactRef): Promise<Uint8Array> {
    const sha256 = sha256Field(ref);
    const kept = await cache.read(sha256);
    if (kept !== null) return kept;
    const bytes = await fetched(ref);
    if (bytes === null) throw damaged(bucket.where(bucket.keyOf(sha256)));
    await cache.add(sha256, bytes);
    return bytes;
  }

  return {
    bucket,
    get,
    async put(content, kind) {
      const bytes = content instanceof Uint8Array ? content : Buffer.concat(content);
      const sha256 = sha256Of(bytes);
      // Also where it is there already: that makes it young again, and right where it was damaged.
      await bucket.put(bucket.keyOf(sha256), bytes, sha256);
      await cache.add(sha256, bytes);
      return refTo(sha256, bytes.byteLength, kind);
    },
    async putFile(file, kind) {
      const parts = await hashParts(file, partBytes);
      await sent(bucket, file, parts);
      return refTo(parts.sha256, parts.bytes, kind);
    },
    async getFile(ref, file) {
      const sha256 = sha256Field(ref);
      if (!cache.keeps(ref.bytes)) return stream(ref, file);
      if (await cache.copyTo(sha256, file)) return;
      await get(ref);
      // It may have gone from the cache again.
      if (!(await cache.copyTo(sha256, file))) await stream(ref, file);
    },
  };
}

/** Whoever puts the same content at the same time may end the upload that both of them fill. */
async function sent(
  bucket: S3Bucket,
  file: string,
  parts: Awaited<ReturnType<typeof hashParts>>,
): Promise<void> {
  if (parts.parts.length === 1) {
    const bytes = await readFile(file);
    if (sha256Of(bytes) !== parts.sha256) throw changedMeanwhile(file);
    return bucket.put(bucket.keyOf(parts.sha256), bytes, parts.sha256);
  }
  const began = Date.now();
  for (let again = 0; ; again++) {
    try {
      return await uploadFile(bucket, file, parts);
    } catch (error) {
      const { cause } = error as { cause?: { name?: string } };
      if (cause?.name !== "NoSuchUpload" || again === CUTS) throw error;
    }
    const found = await bucket.head(bucket.keyOf(parts.sha256));
    if (found?.bytes === parts.bytes && found.modifiedMs >= began - CLOCKS_APART_MS) return;
  }
}

/** The store's clock and this machine's may differ. */
const CLOCKS_APART_MS = 60_000;
