/** What a user sees of an error: one clear message, and an exit code that says whose affair it is. */
import { CommanderError } from "commander";

export const exitCodes = { done: 0, failed: 1, badInput: 2 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Bad input of a command itself: an argument, a flag, a name that does not exist. */
export class UsageError extends Error {
  readonly kind = "usage";
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "UsageError";
  }
}

/** Ctrl-C, where a command has something to end first. */
export class InterruptedError extends Error {
  readonly kind = "interrupted";
  constructor() {
    super("interrupted");
    this.name = "InterruptedError";
  }
}

/** Kinds, per class, that are the caller's input; every other kind is a failure. */
const inputKindsOf: Readonly<Record<string, readonly string[] | "all">> = {
  UsageError: "all",
  SettingsError: "all",
  StackError: ["settings", "port", "data-folder", "version", "disk", "unreachable"],
  BuildError: ["step", "timeout"],
  ImportError: "all",
  EnvironmentError: ["unknown", "no-source", "catalogue", "tests-fail", "unstable", "source-copy", "in-use"],
  ComparisonError: "all",
  ReplayError: "all",
  StoreError: ["newer-schema", "disk-full", "conflict", "missing"],
  ArtifactError: ["disk-full", "unwritable", "unreachable", "settings"],
  PolicyError: "all",
  ApiError: ["settings"],
  SteeringError: ["ended", "refused"],
  ScheduleError: "all",
  GcError: ["input"],
  ExportError: "all",
  PageError: "all",
};

export interface Described {
  readonly kind: string;
  readonly message: string;
  readonly exitCode: ExitCode;
}

/** Errors with a `kind` were written for the user; of any other only the first line is shown, as a failure of Tadpole. */
export function describeError(error: unknown): Described {
  if (error instanceof CommanderError)
    return {
      kind: "usage",
      message: error.message.replace(/^error: /, "").replaceAll("\n", " "),
      exitCode: exitCodes.badInput,
    };
  if (!(error instanceof Error))
    return { kind: "internal", message: String(error), exitCode: exitCodes.failed };
  const { kind } = error as { kind?: unknown };
  if (typeof kind === "string") {
    const input = inputKindsOf[error.name];
    const bad = input === "all" || input?.includes(kind);
    return { kind, message: error.message, exitCode: bad ? exitCodes.badInput : exitCodes.failed };
  }
  const code = (error as NodeJS.ErrnoException).code;
  if (code === "ENOSPC") return { kind: "disk", message: "the disk is full", exitCode: exitCodes.badInput };
  const line = error.message.split("\n")[0] || error.name;
  return { kind: "internal", message: line, exitCode: exitCodes.failed };
}

/** Writes to stderr; the stack only with TADPOLE_DEBUG=1. Returns the exit code. */
export function reportError(error: unknown, json: boolean): ExitCode {
  const { kind, message, exitCode } = describeError(error);
  const text = json ? JSON.stringify({ error: { kind, message } }) : `tadpole: ${message}`;
  process.stderr.write(`${text}\n`);
  if (process.env.TADPOLE_DEBUG === "1" && error instanceof Error) process.stderr.write(`${error.stack}\n`);
  return exitCode;
}
