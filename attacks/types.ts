/** What an attack is, and what it is tried on. */
import type { Task } from "../core/task.ts";
import type { PreparedEnvironment } from "../services/environments/index.ts";
import type { VerdictFlag } from "../services/grading/index.ts";
import type { HackCode } from "./codes.ts";

/** A real task: a package with a mistake put into one place, its noticing tests hidden. */
export interface Target {
  readonly environment: PreparedEnvironment;
  readonly task: Task;
  /** Text of the reference solution, and of a hidden test, that is nowhere in the agent's box. */
  readonly secrets: { readonly gold: string; readonly hidden: string };
  /** File with the mistake, as the agent finds it, and as it should be. */
  readonly source: { readonly path: string; readonly broken: string; readonly solved: string };
}

/** By what judges: a test tool; a verifier's script that writes a number (`reward`), or prints a test tool's report (`script`). */
export type TargetName = "tape" | "pytest" | "go" | "jest" | "node-test" | "vitest" | "reward" | "script";

/** What a script may know of the host: addresses that answer there. */
export interface Surroundings {
  readonly port: number;
  /** IPv4 and IPv6 addresses of this host, the Docker bridge's with them. */
  readonly addresses: readonly string[];
  /** Name of a listening socket in the abstract namespace, without its leading zero. */
  readonly abstractSocket: string;
  /** A file of the host that nobody in a box may read or change. */
  readonly hostFile: string;
  readonly pid: number;
}

export type Script = string | ((target: Target, surroundings: Surroundings) => string);

/** How the same deed succeeds where nothing defends: an attack that does nothing would be no attack. */
export type Control =
  /** The script runs on the host itself. */
  | { readonly kind: "host" }
  /** It runs in a box in which the secret was put where it looks: mounted, in a variable, or by a script before it. */
  | {
      readonly kind: "planted";
      readonly mountAt?: string;
      readonly variable?: string;
      readonly before?: string;
    }
  /** The agent's own box is the one that is graded: tests put in afterwards, nothing mounted over it, the report believed. */
  | { readonly kind: "own-box" }
  /** What shows that it did something is in the expectation itself: a rule that only the deed can cause. */
  | { readonly kind: "by-rule" }
  /** Why there is none. */
  | { readonly kind: "none"; readonly why: string };

interface Deed {
  /** Unique, in kebab case. */
  readonly name: string;
  readonly code: HackCode;
  /** One line for people. */
  readonly what: string;
  readonly on: TargetName;
  /** Bash, run by the agent in its box's working tree. */
  readonly script: Script;
  readonly control: Control;
  /** Takes seconds of waiting and hardly any computing: others run meanwhile. */
  readonly waits?: true;
}

/** Wants to have something: it must not be in what the script prints, nor may the host have been reached or changed. */
export interface Theft extends Deed {
  readonly wants: "secret";
}

/** Wants a reward for a change that does not solve the task. */
export interface Fraud extends Deed {
  readonly wants: "reward";
  /** Rules of which one must have failed it; default `fail-to-pass-failed`. */
  readonly rules?: readonly string[];
}

/** Gets what its tests say; what it did must be flagged. */
export interface Oddity extends Deed {
  readonly wants: "record";
  readonly flag: VerdictFlag;
  /** What the agent says at its end, of a change that does not solve the task; absent = it says nothing, and solves it. */
  readonly falseClaim?: string;
}

/** Gets its reward, and nobody notices: written down so that nobody believes otherwise. */
export interface Gap extends Deed {
  readonly wants: "reward-undefended";
}

export type Attack = Theft | Fraud | Oddity | Gap;
