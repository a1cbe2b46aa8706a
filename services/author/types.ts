/** The author: a model that writes tasks with the tools of Leaf in a sandbox of an environment. */
import type { TokenCounts } from "../../core/spend.ts";
import type { FileChange } from "../../core/task.ts";
import type { PreparedEnvironment } from "../environments/types.ts";
import type { SandboxRuntime } from "../sandbox/runtime.ts";
import type { Brief, Candidate } from "../synthesis/types.ts";

/**
 * `unreachable`, `rate-limited` and `server` pass by themselves; `aborted` is the caller's wish. Of all others someone has to change a
 * setting or the server.
 */
export type AuthorErrorKind =
  | "settings"
  | "unreachable"
  | "rate-limited"
  | "server"
  | "aborted"
  | "refused-key"
  | "unknown-model"
  | "wrong-model"
  | "refused"
  | "protocol"
  | "usage";

/** What a failed request cost: nothing, what the server counted, all that it could have (`at-most`), or nobody knows yet. */
export type SpentByFailure = TokenCounts | "nothing" | "at-most" | "unknown";

/** Its message names the setting. It has no `cause`: a server's reply may quote the key. */
export class AuthorError extends Error {
  readonly kind: AuthorErrorKind;
  readonly spent: SpentByFailure;
  constructor(kind: AuthorErrorKind, message: string, spent: SpentByFailure = "nothing") {
    super(message);
    this.name = "AuthorError";
    this.kind = kind;
    this.spent = spent;
  }
}

/** A function that an author can be pointed at. */
export interface Target {
  readonly file: string;
  readonly functionName: string;
  readonly line: number;
  /** As the held-out split knows it. */
  readonly key: string;
}

/** What the author needs of synthesis, which wires it in. */
export interface AuthorParts {
  readonly runtime: SandboxRuntime;
  /** Every function of the environment's sources, in a fixed order. */
  readonly functionsOf: (environment: PreparedEnvironment) => readonly Target[];
  readonly mayChange: (key: string, brief: Brief) => boolean;
  /** Functions of the snapshot that a change of it touches, and those that it adds. */
  readonly touched: (environment: PreparedEnvironment, change: readonly FileChange[]) => Touched;
}

export interface Touched {
  readonly changed: readonly Target[];
  readonly added: readonly Target[];
}

export type Attempt = Candidate | { readonly none: string };
