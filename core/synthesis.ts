/** Settings of task synthesis that are more than a number: plain types, so that workflow code can use them without zod. */

import type { GeneratorName } from "./task.ts";

/** Generators that make the same candidate from the same seed wherever they run: fixed sets are made by them alone. */
const REPEATABLE = [
  "mutation",
  "combination",
  "removal",
  "exercise",
] as const satisfies readonly GeneratorName[];

/** A pool's mix without the generators that depend on a repository's history or a model; mutations alone where nothing is left. */
export function repeatableMix(
  mix: Readonly<Record<GeneratorName, number>>,
): Readonly<Partial<Record<GeneratorName, number>>> {
  // Sets are named by a hash of their mix: one without exercises is called as it was before there were any.
  const weights = REPEATABLE.map((name) => [name, mix[name]] as const).filter(
    ([name, weight]) => name !== "exercise" || weight > 0,
  );
  return weights.some(([, weight]) => weight > 0) ? Object.fromEntries(weights) : { mutation: 1 };
}

/** At most so many candidates of one pool share an attribute; null = no cap. */
export interface DiversityCaps {
  readonly perFile: number | null;
  readonly perOperator: number | null;
  /** Candidates with one origin: a commit, an author's conversation, a task that is revised. */
  readonly perLineage: number | null;
  /** Bits in which the sketches (core/similarity.ts) of two candidates differ at least, of 64; null = only equal ones are left out. */
  readonly nearDuplicateBits: number | null;
}

export interface GateSettings {
  /** Greatest share of flaky runs that must be excluded at 95 % by the repeats; null = `stabilityRuns` repeats, whatever they exclude. */
  readonly maxFlakeRate: number | null;
  /** Gold without one hunk, an unrelated change and deleted tests are graded, and must fail. */
  readonly wrongSolutions: boolean;
  /** The statement must say or the tree must show what the tests need. */
  readonly determined: boolean;
  /** Files of benchmarks, relative to the experiment's file: no task may share 13 words in a row with them. */
  readonly decontaminate: readonly string[];
}

/** Which commits become tasks. */
export interface HistorySettings {
  /** Commits looked at, newest first. */
  readonly maxCommits: number;
  readonly maxFiles: number;
  readonly maxLines: number;
}

/** The model that writes tasks: any OpenAI-compatible endpoint. */
export interface AuthorSettings {
  readonly baseUrl: string;
  readonly model: string;
  /** NAME of the environment variable that holds the key; null = none. */
  readonly apiKeyEnv: string | null;
  /** Turns of one conversation, tool calls among them. */
  readonly maxTurns: number;
  /** Tokens generated in one turn. */
  readonly maxTokens: number;
  readonly temperature: number;
  /** Times a candidate is sent back with the gates' messages. */
  readonly repairs: number;
  /** Seconds without an answer after which a request is given up. */
  readonly timeoutSeconds: number;
}
