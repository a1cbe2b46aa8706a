/** Failures by their cause: the failure of a child or an activity says only that it failed, and the cause is what people look for. */
import { ApplicationFailure, ContinueAsNew, isCancellation } from "@temporalio/workflow";

/** Message of the innermost cause. */
export function rootCause(error: unknown): string {
  let current = error;
  while (current instanceof Error && current.cause instanceof Error) current = current.cause;
  return current instanceof Error ? current.message : String(current);
}

/** Type of the innermost cause that has one (core/failures.ts). */
function rootType(error: unknown): string | null {
  let type: string | null = null;
  for (let current = error; current instanceof Error; current = current.cause)
    if (current instanceof ApplicationFailure && current.type) type = current.type;
  return type;
}

/** What a workflow that fails by `error` is to throw: a failure that names the cause. Being cancelled, and continuing as new, stay what they are. */
export function named(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ContinueAsNew || isCancellation(error)) return error;
  if (error instanceof ApplicationFailure) return error;
  const type = rootType(error);
  return ApplicationFailure.create({
    message: rootCause(error),
    nonRetryable: true,
    cause: error,
    ...(type === null ? {} : { type }),
  });
}
