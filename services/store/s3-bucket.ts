/**
 * A bucket below one prefix: the few requests that artifacts need, with one kind of error each. Contents are found by their sha256, under
 * `<prefix>/ab/cdef…`; what garbage collection takes out is under `<prefix>/removing/<sha256>` until it is gone.
 */
import type { Readable } from "node:stream";
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { ArtifactError } from "./errors.ts";
import { describeS3, type S3Settings } from "./s3-settings.ts";

/** Time for a connection; of silence on one that stands; and tries of a request, each after a longer wait. */
const CONNECT_MS = 5_000;
const SILENCE_MS = 60_000;
const TRIES = 4;

export interface StoredObject {
  readonly key: string;
  readonly bytes: number;
  readonly modifiedMs: number;
}

export interface S3Bucket {
  readonly name: string;
  readonly client: S3Client;
  readonly bucket: string;
  /** Of all keys; ends with a slash where it is not empty. */
  readonly prefix: string;
  readonly keyOf: (sha256: string) => string;
  readonly removedKeyOf: (sha256: string) => string;
  /** What `s3://…` calls a key, for messages. */
  readonly where: (key: string) => string;
  /** Throws ArtifactError `unreachable` where the store does not answer or does not let this process in. */
  check(): Promise<void>;
  /** The store compares the checksum with what it received. `sha256` as hex. */
  put(key: string, bytes: Uint8Array, sha256: string): Promise<void>;
  /** From byte `from` on; null where there is no such key. */
  get(key: string, from?: number): Promise<Readable | null>;
  /** Null where there is no such key. */
  head(key: string): Promise<StoredObject | null>;
  /** Null where there is none at `from`. */
  copy(from: string, to: string, bytes: number): Promise<void>;
  remove(key: string): Promise<void>;
  /** Every key below the prefix, without the prefix. */
  list(): AsyncGenerator<StoredObject>;
  /** `work`, with its errors as ArtifactErrors. */
  asked<T>(what: string, work: () => Promise<T>): Promise<T>;
  close(): void;
}

export const base64 = (sha256: string): string => Buffer.from(sha256, "hex").toString("base64");

/** A copy in one request may have 5 GB at most: https://docs.aws.amazon.com/AmazonS3/latest/API/API_CopyObject.html */
const MOST_COPIED = 5 * 2 ** 30;

const isAbsent = (error: unknown): boolean => {
  const { name, $metadata } = error as { name?: string; $metadata?: { httpStatusCode?: number } };
  return (name === "NoSuchKey" || name === "NotFound") && $metadata?.httpStatusCode === 404;
};

/** Why the store did not do what it was asked; an error that is none of the store's stays as it is. */
export function s3Error(error: unknown, what: string, where: string): unknown {
  if (error instanceof ArtifactError || !(error instanceof Error)) return error;
  const { name, code, $metadata } = error as Error & {
    code?: string;
    $metadata?: { httpStatusCode?: number };
  };
  const status = $metadata?.httpStatusCode;
  const refused =
    status === 401 || status === 403 || name === "NoSuchBucket" || name === "CredentialsProviderError";
  const said = error.message.trim() || code || name;
  const remedy = refused
    ? "are TADPOLE_ARTIFACTS and the AWS_ variables of this process right, and may its user read, write, list and delete there?"
    : "is TADPOLE_S3_ENDPOINT right, and does the store run? What asked waits and asks again";
  if (status === undefined && !refused && code === undefined && name !== "TimeoutError") return error;
  return new ArtifactError("unreachable", `${what} ${where}: ${name}: ${said} (${remedy})`, { cause: error });
}

export function openBucket(settings: S3Settings): S3Bucket {
  const { bucket, prefix, endpoint, region } = settings;
  const name = describeS3(settings);
  const client = new S3Client({
    region,
    // Servers other than Amazon's seldom have a host name per bucket.
    ...(endpoint === null ? {} : { endpoint, forcePathStyle: true }),
    maxAttempts: TRIES,
    // Checksums are ours, of the whole content: the SDK's own go into trailers that not every server reads.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      requestTimeout: SILENCE_MS,
      throwOnRequestTimeout: true,
    },
  });
  const below = prefix === "" ? "" : `${prefix}/`;
  const where = (key: string) => `s3://${bucket}/${key}`;
  const asked = async <T>(what: string, work: () => Promise<T>): Promise<T> =>
    work().catch((error) => {
      throw s3Error(error, what, name);
    });
  const orNull = async <T>(what: string, work: () => Promise<T>): Promise<T | null> =>
    asked(what, () => work().catch((error) => (isAbsent(error) ? null : Promise.reject(error))));
  const of = (Key: string) => ({ Bucket: bucket, Key });
  return {
    name,
    client,
    bucket,
    prefix: below,
    keyOf: (sha256) => `${below}${sha256.slice(0, 2)}/${sha256.slice(2)}`,
    removedKeyOf: (sha256) => `${below}removing/${sha256}`,
    where,
    asked,
    async check() {
      await asked("open", () =>
        client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: below, MaxKeys: 1 })),
      );
    },
    async put(key, bytes, sha256) {
      await asked("put", () =>
        client.send(
          new PutObjectCommand({
            ...of(key),
            Body: bytes,
            ContentLength: bytes.byteLength,
            ChecksumSHA256: base64(sha256),
          }),
        ),
      );
    },
    async get(key, from = 0) {
      const reply = await orNull("get", () =>
        client.send(new GetObjectCommand({ ...of(key), ...(from > 0 ? { Range: `bytes=${from}-` } : {}) })),
      );
      return reply === null ? null : (reply.Body as Readable);
    },
    async head(key) {
      const found = await orNull("head", () => client.send(new HeadObjectCommand(of(key))));
      if (found === null) return null;
      return { key, bytes: found.ContentLength ?? 0, modifiedMs: found.LastModified?.getTime() ?? 0 };
    },
    async copy(from, to, bytes) {
      if (bytes > MOST_COPIED)
        throw new RangeError(`${where(from)} has ${bytes} bytes: too many for one copy`);
      const CopySource = `${bucket}/${from}`;
      await asked("copy", () => client.send(new CopyObjectCommand({ ...of(to), CopySource })));
    },
    async remove(key) {
      await asked("remove", () => client.send(new DeleteObjectCommand(of(key))));
    },
    async *list() {
      let token: string | undefined;
      do {
        const page = await asked("list", () =>
          client.send(
            new ListObjectsV2Command({
              Bucket: bucket,
              Prefix: below,
              ...(token === undefined ? {} : { ContinuationToken: token }),
            }),
          ),
        );
        for (const { Key, Size, LastModified } of page.Contents ?? [])
          if (Key !== undefined)
            yield {
              key: Key.slice(below.length),
              bytes: Size ?? 0,
              modifiedMs: LastModified?.getTime() ?? 0,
            };
        token = page.IsTruncated ? page.NextContinuationToken : undefined;
      } while (token !== undefined);
    },
    close: () => client.destroy(),
  };
}
