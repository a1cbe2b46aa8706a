/** Where artifacts are: the data folder, or an S3-compatible store that `TADPOLE_ARTIFACTS` names. Keys of the store stay in variables of the AWS SDK. */
import { ArtifactError } from "./errors.ts";

export interface S3Settings {
  readonly bucket: string;
  /** Without slashes at its ends; "" = the bucket's top. */
  readonly prefix: string;
  /** Null = Amazon's own. */
  readonly endpoint: string | null;
  readonly region: string;
}

/** What the cache beside an S3 store may take on this machine, in MiB, unless `TADPOLE_ARTIFACT_CACHE_MB` says otherwise. */
const DEFAULT_CACHE_MB = 20 * 1024;

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html */
const LOCATION = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9._/-]*))?$/;

/** Null = the data folder. Throws ArtifactError `settings` naming the variable. */
export function s3Settings(env: NodeJS.ProcessEnv = process.env): S3Settings | null {
  const location = env.TADPOLE_ARTIFACTS;
  if (!location) return null;
  const [, bucket, path = ""] = LOCATION.exec(location) ?? [];
  if (bucket === undefined)
    throw new ArtifactError(
      "settings",
      `TADPOLE_ARTIFACTS: expected s3://BUCKET/PREFIX, or nothing for the data folder; got "${location}"`,
    );
  const endpoint = env.TADPOLE_S3_ENDPOINT || null;
  if (endpoint !== null && !/^https?:\/\/[^\s/@]+\/?$/.test(endpoint))
    throw new ArtifactError(
      "settings",
      "TADPOLE_S3_ENDPOINT: expected http://HOST:PORT or https://HOST, without a path, user or password",
    );
  return {
    bucket,
    prefix: path.split("/").filter(Boolean).join("/"),
    endpoint,
    region: env.TADPOLE_S3_REGION || env.AWS_REGION || env.AWS_DEFAULT_REGION || "us-east-1",
  };
}

/** Bytes that the cache may take; 0 = none. Throws ArtifactError `settings`. */
export function cacheBytes(env: NodeJS.ProcessEnv = process.env): number {
  const text = env.TADPOLE_ARTIFACT_CACHE_MB || String(DEFAULT_CACHE_MB);
  if (!/^\d{1,9}$/.test(text))
    throw new ArtifactError(
      "settings",
      `TADPOLE_ARTIFACT_CACHE_MB: expected a whole number of MB, got "${text}"`,
    );
  return Number(text) * 2 ** 20;
}

/** For people: `s3://bucket/prefix`, and at which endpoint. */
export function describeS3({ bucket, prefix, endpoint }: S3Settings): string {
  return `s3://${[bucket, prefix].filter(Boolean).join("/")}${endpoint === null ? "" : ` at ${endpoint}`}`;
}
