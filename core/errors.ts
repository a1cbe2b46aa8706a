/** Errors of this project are classes with a `kind` that callers can switch on. */

/** The error's `kind`, or null for an error of another origin. */
export function errorKind(error: unknown): string | null {
  return error instanceof Error && "kind" in error && typeof error.kind === "string" ? error.kind : null;
}
