/**
 * A large file's way into a bucket: in parts, each with its checksum. One that was cut goes on from the parts that the store has, whoever sent them: an
 * upload in progress is found by its key, which is the content's hash, and a part counts only with the right number, size and checksum.
 */
import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { sha256Of } from "./artifact-files.ts";
import { ArtifactError } from "./errors.ts";
import { base64, type S3Bucket } from "./s3-bucket.ts";

/** Contents up to this size go in one request; larger ones in parts of it, or of more where there would be too many. */
export const PART_BYTES = 16 * 2 ** 20;
/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html */
const MOST_PARTS = 10_000;
/** Parts on their way at once: each is in memory. */
const AT_ONCE = 4;

export interface FileParts {
  readonly sha256: string;
  readonly bytes: number;
  /** Of every part but the last. */
  readonly partBytes: number;
  readonly parts: readonly string[];
}

export function partSize(bytes: number, least = PART_BYTES): number {
  const needed = Math.ceil(bytes / MOST_PARTS / 2 ** 20) * 2 ** 20;
  return Math.max(least, needed);
}

/** Reads the file once: the hash of the whole and of each part. */
export async function hashParts(file: string, leastPart = PART_BYTES): Promise<FileParts> {
  const handle = await open(file, "r");
  try {
    const { size } = await handle.stat();
    const partBytes = partSize(size, leastPart);
    const whole = createHash("sha256");
    const parts: string[] = [];
    let bytes = 0;
    for (let at = 0; at === 0 || at < size; at += partBytes) {
      const part = await readPart(handle, at, Math.min(partBytes, size - at));
      whole.update(part);
      parts.push(sha256Of(part));
      bytes += part.length;
    }
    return { sha256: whole.digest("hex"), bytes, partBytes, parts };
  } finally {
    await handle.close();
  }
}

/** Fewer bytes where the file ends before. */
async function readPart(handle: FileHandle, from: number, length: number): Promise<Buffer> {
  const part = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(part, filled, length - filled, from + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return part.subarray(0, filled);
}

interface Done {
  readonly PartNumber: number;
  readonly ETag: string;
  readonly ChecksumSHA256: string;
}

/** The newest upload in progress of this key, or none. */
async function unfinished({ client, bucket, asked }: S3Bucket, key: string): Promise<string | undefined> {
  const { Uploads = [] } = await asked("list uploads", () =>
    client.send(new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: key })),
  );
  const time = (upload: { Initiated?: Date | undefined }) => upload.Initiated?.getTime() ?? 0;
  return Uploads.filter(({ Key, UploadId }) => Key === key && UploadId !== undefined).sort(
    (a, b) => time(b) - time(a),
  )[0]?.UploadId;
}

/** Parts of it that the store has and that are the file's, by number. */
async function sentParts(
  { client, bucket, asked }: S3Bucket,
  key: string,
  uploadId: string,
  file: FileParts,
): Promise<Map<number, Done>> {
  const sent = new Map<number, Done>();
  let marker: string | undefined;
  do {
    const page = await asked("list parts", () =>
      client.send(
        new ListPartsCommand({
          Bucket: bucket,
          Key: key,
          UploadId: uploadId,
          ...(marker === undefined ? {} : { PartNumberMarker: marker }),
        }),
      ),
    );
    for (const { PartNumber = 0, ETag = "", ChecksumSHA256 = "", Size } of page.Parts ?? []) {
      const index = PartNumber - 1;
      const expected = file.parts[index];
      if (expected === undefined || ChecksumSHA256 !== base64(expected)) continue;
      if (Size === Math.min(file.partBytes, file.bytes - index * file.partBytes))
        sent.set(PartNumber, { PartNumber, ETag, ChecksumSHA256 });
    }
    marker = page.IsTruncated ? page.NextPartNumberMarker : undefined;
  } while (marker !== undefined);
  return sent;
}

export function changedMeanwhile(file: string): ArtifactError {
  return new ArtifactError(
    "damaged",
    `${file} was changed while it was put: put it again once it is written`,
  );
}

/** Throws ArtifactError `damaged` where the file is no longer what was hashed. */
async function sendPart(
  { client, bucket, asked }: S3Bucket,
  upload: { readonly Key: string; readonly UploadId: string },
  [handle, path]: readonly [FileHandle, string],
  file: FileParts,
  index: number,
): Promise<Done> {
  const from = index * file.partBytes;
  const body = await readPart(handle, from, Math.min(file.partBytes, file.bytes - from));
  if (sha256Of(body) !== file.parts[index]) throw changedMeanwhile(path);
  const part = { PartNumber: index + 1, ChecksumSHA256: base64(file.parts[index]!) };
  const { ETag = "" } = await asked("put a part", () =>
    client.send(
      new UploadPartCommand({ Bucket: bucket, ...upload, ...part, Body: body, ContentLength: body.length }),
    ),
  );
  return { ...part, ETag };
}

/**
 * Returns once the store has the whole content. `progress` is told of each part that was sent, not of those that were there. Throws ArtifactError;
 * the parts sent so far stay with the store, and the next call goes on from them.
 */
export async function uploadFile(
  store: S3Bucket,
  file: string,
  parts: FileParts,
  progress: (sent: number) => void = () => {},
): Promise<void> {
  const { client, bucket, asked } = store;
  const key = store.keyOf(parts.sha256);
  const before = await unfinished(store, key);
  const done = before === undefined ? new Map<number, Done>() : await sentParts(store, key, before, parts);
  const UploadId = before ?? (await begin(store, key));
  const upload = { Key: key, UploadId };
  const waiting = parts.parts.map((_, index) => index).filter((index) => !done.has(index + 1));
  const handle = await open(file, "r");
  try {
    const sendOthers = async () => {
      for (let index = waiting.shift(); index !== undefined; index = waiting.shift()) {
        done.set(index + 1, await sendPart(store, upload, [handle, file], parts, index));
        progress(index);
      }
    };
    const senders = Array.from({ length: AT_ONCE }, () =>
      sendOthers().catch((error) => {
        waiting.length = 0;
        throw error;
      }),
    );
    // The file stays open until the last of them has ended.
    await Promise.allSettled(senders);
    await Promise.all(senders);
  } finally {
    await handle.close();
  }
  const Parts = parts.parts.map((_, index) => done.get(index + 1)!);
  await asked("complete", () =>
    client.send(
      new CompleteMultipartUploadCommand({ Bucket: bucket, ...upload, MultipartUpload: { Parts } }),
    ),
  );
}

async function begin({ client, bucket, asked }: S3Bucket, key: string): Promise<string> {
  const { UploadId } = await asked("begin an upload", () =>
    client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: key, ChecksumAlgorithm: "SHA256" })),
  );
  if (UploadId === undefined) throw new ArtifactError("unreachable", `${key}: the store named no upload`);
  return UploadId;
}

/** Ends uploads of before `beforeMs`, whose parts nobody comes back for. Returns how many. */
export async function abortUploads(
  { client, bucket, prefix, asked }: S3Bucket,
  beforeMs: number,
): Promise<number> {
  const { Uploads = [] } = await asked("list uploads", () =>
    client.send(new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix })),
  );
  const old = Uploads.filter(({ Initiated }) => Initiated !== undefined && Initiated.getTime() < beforeMs);
  for (const { Key, UploadId } of old)
    await asked("end an upload", () =>
      client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key: Key!, UploadId: UploadId! })),
    );
  return old.length;
}
