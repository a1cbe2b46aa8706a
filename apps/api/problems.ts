/** Errors as RFC 9457 problem documents. One table says which status an error has; what is not in it is a failure whose cause is only logged. */
import { isGrpcServiceError, ServiceError } from "@temporalio/client";
import { errorKind } from "../../core/errors.ts";

export type ApiErrorKind =
  | "settings"
  | "unauthenticated"
  | "forbidden"
  | "foreign"
  | "request"
  | "key-reused"
  | "in-progress"
  | "running"
  | "streams";

/** An error of the HTTP face itself; `field` names the part of the request. */
export class ApiError extends Error {
  readonly kind: ApiErrorKind;
  readonly field: string | null;
  constructor(kind: ApiErrorKind, message: string, field: string | null = null) {
    super(message);
    this.name = "ApiError";
    this.kind = kind;
    this.field = field;
  }
}

/** By `<error's name>.<kind>`; `*` stands for every other kind of that class. */
const STATUS: Readonly<Record<string, number>> = {
  "ApiError.unauthenticated": 401,
  "ApiError.forbidden": 403,
  "ApiError.foreign": 403,
  "ApiError.request": 400,
  "ApiError.key-reused": 422,
  "ApiError.in-progress": 409,
  "ApiError.running": 409,
  "ApiError.streams": 429,
  "PageError.cursor": 422,
  "PageError.*": 400,
  "StoreError.missing": 404,
  "StoreError.conflict": 409,
  "StoreError.invalid": 400,
  "StoreError.*": 503,
  // Its row is there, its content was collected.
  "ArtifactError.missing": 410,
  "ArtifactError.disk-full": 503,
  "ArtifactError.unwritable": 503,
  "ArtifactError.unreachable": 503,
  "ArtifactError.*": 500,
  "SettingsError.*": 422,
  "EnvironmentError.unknown": 422,
  "EnvironmentError.*": 500,
  "StackError.*": 503,
  "SteeringError.ended": 409,
  "SteeringError.refused": 422,
  "SteeringError.unreachable": 503,
  "ReplayError.missing": 404,
  "ReplayError.running": 409,
  "ReplayError.request": 422,
  "ScheduleError.missing": 404,
  "ScheduleError.conflict": 409,
  "ScheduleError.*": 422,
};

const TITLES: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  409: "Conflict",
  410: "Gone",
  413: "Content Too Large",
  414: "URI Too Long",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  500: "Internal Server Error",
  503: "Service Unavailable",
};

/** RFC 9457, with two members of our own: `kind` for programs and `field` where one part of the request is at fault. */
export interface Problem {
  readonly type: "about:blank";
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly kind: string;
  readonly field?: string;
}

export function problem(status: number, kind: string, detail: string, field?: string | null): Problem {
  const title = TITLES[status] ?? "Error";
  return { type: "about:blank", title, status, detail, kind, ...(field ? { field } : {}) };
}

const FAILED = problem(500, "internal", "the request failed; the log says why under its X-Request-Id");

/** gRPC: DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, UNAVAILABLE. */
const AWAY = new Set([4, 8, 14]);

function statusOf(error: unknown): number | undefined {
  const kind = errorKind(error);
  if (kind === null) return undefined;
  const { name } = error as Error;
  return STATUS[`${name}.${kind}`] ?? STATUS[`${name}.*`];
}

interface ZodIssueError {
  readonly instancePath: string;
  readonly message?: string;
  readonly params?: { readonly keys?: readonly string[] };
}

/** Of Fastify's own errors and of the shape of a request. */
function requestProblem(error: Error): Problem | null {
  const { statusCode, validation, validationContext } = error as {
    statusCode?: number;
    validation?: readonly ZodIssueError[];
    validationContext?: string;
  };
  const issue = validation?.[0];
  if (issue !== undefined) {
    const path = issue.instancePath.split("/").filter((part) => part !== "");
    const field =
      [...path, ...(issue.params?.keys?.slice(0, 1) ?? [])].join(".") || (validationContext ?? "");
    return problem(400, "request", `${field}: ${issue.message ?? "not valid"}`, field);
  }
  if (statusCode === undefined || statusCode < 400 || statusCode >= 500) return null;
  return problem(statusCode, "request", error.message.split("\n")[0] ?? "");
}

export function problemOf(error: unknown): Problem {
  if (!(error instanceof Error)) return FAILED;
  const status = statusOf(error);
  if (status !== undefined)
    return problem(status, errorKind(error)!, error.message, (error as { field?: string | null }).field);
  if (error instanceof ServiceError && isGrpcServiceError(error.cause) && AWAY.has(error.cause.code))
    return problem(503, "unreachable", "Temporal does not answer; is the stack up (tadpole status)?");
  return requestProblem(error) ?? FAILED;
}

/** Seconds after which a request that met this problem may be sent again. */
export function retryAfter({ status, kind }: Problem): number | null {
  return status === 503 || status === 429 || kind === "in-progress" ? 5 : null;
}
