/** Errors of the record and of the artifact folder, and how Postgres' and the file system's own errors become one of them. */

/**
 * `unreachable`, `timeout`, `busy` and `disk-full` pass once the cause is gone, so a caller may try again; `fenced` means that a newer
 * attempt owns the slot; `conflict`, `invalid`, `missing` and `newer-schema` stay what they are however often one tries.
 */
export type StoreErrorKind =
  | "unreachable"
  | "timeout"
  | "busy"
  | "disk-full"
  | "newer-schema"
  | "fenced"
  | "conflict"
  | "invalid"
  | "missing";

export class StoreError extends Error {
  readonly kind: StoreErrorKind;
  constructor(kind: StoreErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StoreError";
    this.kind = kind;
  }
}

/**
 * `damaged`: the content is not what its name says. `unreachable`: a store elsewhere does not answer, or lets nobody in; that passes once the cause is
 * gone. `settings`: a variable that says where artifacts are is not what it should be.
 */
export type ArtifactErrorKind =
  | "missing"
  | "damaged"
  | "disk-full"
  | "unwritable"
  | "unreachable"
  | "reference"
  | "settings";

export class ArtifactError extends Error {
  readonly kind: ArtifactErrorKind;
  constructor(kind: ArtifactErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ArtifactError";
    this.kind = kind;
  }
}

const UNREACHABLE_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "EPIPE",
  "ENOENT", // a Unix socket that is not there
  "57P01", // admin_shutdown
  "57P02", // crash_shutdown
  "57P03", // cannot_connect_now
  "53300", // too_many_connections
  "3D000", // the database does not exist
]);

/** Kind of a Postgres error class or code: https://www.postgresql.org/docs/current/errcodes-appendix.html */
function kindOfCode(code: string): StoreErrorKind | null {
  if (UNREACHABLE_CODES.has(code) || /^(08|28)/.test(code)) return "unreachable";
  if (code === "53100" || code === "ENOSPC") return "disk-full";
  if (code === "57014" || code === "55P03" || code === "25P03") return "timeout";
  if (code === "40001" || code === "40P01") return "busy";
  if (code === "23505") return "conflict";
  if (/^2[23]/.test(code)) return "invalid";
  return null;
}

const REMEDIES: Partial<Record<StoreErrorKind, string>> = {
  unreachable: "is the stack up (tadpole status), or is DATABASE_URL right?",
  "disk-full": "free space on the database's disk; what was not committed is not recorded",
};

/**
 * The StoreError an error of the driver stands for; anything unknown is returned as it is. `where` names the database without its
 * password.
 */
export function storeErrorFrom(error: unknown, where: string): unknown {
  if (!(error instanceof Error) || error instanceof StoreError) return error;
  // Trying both addresses of a host name gives an AggregateError, whose own message is empty.
  const cause = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
  const { code, detail } = cause as { code?: string; detail?: string };
  const text = detail ? `${cause.message}: ${detail}` : cause.message;
  const lost = /Connection terminated|Client has encountered a connection error|timeout exceeded when trying/;
  const full = /No space left on device/;
  const kind =
    (full.test(text) ? "disk-full" : null) ??
    (code ? kindOfCode(code) : null) ??
    (lost.test(text) ? "unreachable" : null);
  if (kind === null) return error;
  const remedy = REMEDIES[kind];
  return new StoreError(kind, `database ${where}: ${text}${remedy ? ` (${remedy})` : ""}`, { cause: error });
}
