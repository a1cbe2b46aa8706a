/** Leaf: five tools and one loop (`microsoft/FrogNano`), reaching the policy only through PolicyClient. */
import type { RolloutLimits } from "../../core/experiment.ts";
import type { TokensByPolicy } from "../../core/lag.ts";
import type { TokenCounts } from "../../core/spend.ts";
import type { Sampling, Trajectory, TurnRecord, VersionFrom } from "../../core/trajectory.ts";
import type { PolicyClient } from "../policy/client.ts";
import type { PolicyTemplate } from "../policy/template.ts";
import type { Sandbox } from "../sandbox/runtime.ts";

/** One durable row per turn. Both resolve when the row is committed, and throw when the fence is no longer current. */
export interface Ledger {
  /** Right after the policy answered, before any call runs. */
  append(turn: LedgerTurn): Promise<void>;
  /** Replaces an unanswered row by the same turn with the results of its calls. */
  complete(turn: LedgerTurn): Promise<void>;
}

/** What the loop needs beside the record to go on from a row; it is no part of the trajectory. */
export interface TurnState {
  readonly text: string;
  readonly finish: "stop" | "length";
  /** sha256 of the working tree before the turn's calls. */
  readonly treeBefore: string;
  /** sha256 of the names in the working tree before the turn's calls: a tree hash does not see an empty folder. */
  readonly namesBefore: string;
  /** Of this turn; absent in rows of earlier versions. */
  readonly tokens?: TokenCounts;
  /** Of the sampled tokens, where weights changed within the turn; absent = all are of the row's `weightVersion`. */
  readonly versions?: readonly VersionFrom[];
  /** Sums over the rollout up to and including this turn. */
  readonly modelSeconds: number;
  readonly toolSeconds: number;
}

export interface LedgerTurn {
  readonly record: TurnRecord;
  /** Tokens new to the conversation since the last row: rendered prompt part, then the sampled part. */
  readonly promptTokens: readonly number[];
  readonly sampledTokens: readonly number[];
  readonly logProbs: readonly number[];
  readonly weightVersion: string;
  /** True when the prompt was no extension of the last turn's: a new segment starts here. */
  readonly newSegment: boolean;
  readonly reply: TurnState;
  /** False while the results of the turn's calls are not in `record`. */
  readonly answered: boolean;
}

export interface RolloutRequest {
  readonly statement: string;
  readonly policy: string;
  readonly limits: RolloutLimits;
  readonly sampling: Sampling;
  /** Seed of turn t: unsigned 32-bit. */
  readonly turnSeed: (turn: number) => number;
  /** One for all turns, so that they meet their prefix where it is cached; it changes no token. */
  readonly affinity?: string;
  readonly sandbox: Sandbox;
  readonly client: PolicyClient;
  readonly template: PolicyTemplate;
  readonly ledger: Ledger;
  /** Rows of an attempt that was cut, in order; the sandbox is as it was before the calls of an unanswered last one. */
  readonly resumed?: readonly LedgerTurn[];
  /** Bash results by (tree, command) where given; see `sandbox.reuseCommands`. */
  readonly commandCache?: CommandCache;
  /**
   * CPU seconds a command may use. Unlike its wall limit, which a busy machine reaches sooner, this ends a command that never ends at the
   * same point each time.
   */
  readonly commandCpuSeconds?: number;
  readonly onTurn?: (turn: number) => void;
  readonly signal?: AbortSignal;
}

/** A command's text result may be re-used only for the same environment tree, and only if the command left the tree as it was. */
export interface CommandCache {
  get(treeHash: string, command: string): string | undefined;
  set(treeHash: string, command: string, result: string): void;
}

export interface RolloutOutcome {
  readonly trajectory: Trajectory;
  /** sha256 of the working tree before the first turn. */
  readonly treeGiven: string;
  /** Sampled tokens by the policy that sampled them. */
  readonly versions: TokensByPolicy;
  /** Of all turns; null where one was taken over that nobody counted. */
  readonly tokens: TokenCounts | null;
  readonly modelSeconds: number;
  readonly toolSeconds: number;
}
