/** What a workflow can be found by in the Temporal UI. The stack makes the attributes when it starts (`infra/stack/search-attributes.ts`). */

/** By name: type in Temporal's visibility store. A server on SQLite or SQL holds ten of type Keyword and three of type Int. */
export const SEARCH_ATTRIBUTES = {
  TadpoleExperiment: "Keyword",
  TadpoleIteration: "Int",
  TadpolePhase: "Keyword",
  TadpolePolicy: "Keyword",
  TadpoleOutcome: "Keyword",
  TadpoleEnvironment: "Keyword",
} as const;

/** In their order; the words of `tadpole state`, of the query `state` and of `TadpolePhase`. */
export const PHASES = ["preparation", "pool", "climb", "selection", "evaluation"] as const;
export type Phase = (typeof PHASES)[number];

/** How a workflow came to its end; one that failed or was cancelled before it could say so has none. */
export const OUTCOMES = {
  /** Experiments. */
  done: "every iteration is finished",
  stopped: "ended before every iteration was finished",
  failed: "ended by a failure",
  /** Iterations, pools, climbs. */
  finished: "went its whole way",
  "cut-short": "ended early, with what was there: a stop, a skip, or no candidates left",
  /** Candidates. */
  admitted: "in the pool",
  rejected: "a validation gate refused it",
  dropped: "the learnability filter dropped it",
  /** Groups. */
  mixed: "some rollouts are better than others: there is something to learn",
  uniform: "all rollouts have one reward: nothing to learn from",
  /** Task sets. */
  found: "was on record already",
  made: "made and recorded",
} as const;
export type Outcome = keyof typeof OUTCOMES;

/** Of one workflow; what does not apply is left out. */
export interface Attributes {
  readonly experiment?: string;
  /** 0 = before the first. */
  readonly iteration?: number;
  readonly phase?: Phase;
  /** Id of the policy version: the one that samples, or that is measured; of a climb the latest. */
  readonly policy?: string | null;
  readonly outcome?: Outcome;
  /** Only of what is about one environment. */
  readonly environment?: string | null;
}

export const ATTRIBUTE_OF = {
  experiment: "TadpoleExperiment",
  iteration: "TadpoleIteration",
  phase: "TadpolePhase",
  policy: "TadpolePolicy",
  outcome: "TadpoleOutcome",
  environment: "TadpoleEnvironment",
} as const satisfies Record<keyof Attributes, keyof typeof SEARCH_ATTRIBUTES>;

/** `field = "value"`, with a filter language's quotes escaped. */
export function attributeFilter(attributes: Attributes): string {
  return Object.entries(ATTRIBUTE_OF)
    .flatMap(([field, name]) => {
      const value = attributes[field as keyof Attributes];
      if (value === undefined || value === null) return [];
      return `${name} = ${typeof value === "number" ? value : JSON.stringify(value)}`;
    })
    .join(" AND ");
}

/** The one element of a list of one; null otherwise. */
export function sole<T>(list: readonly T[]): T | null {
  return list.length === 1 ? list[0]! : null;
}
