/** What a run costs: tokens by class, sandbox seconds, and money by a price table. */

/** Tokens of one request or one rollout. `cached` are those of the prompt that the server did not compute again; `prompt` is without them. */
export interface TokenCounts {
  readonly prompt: number;
  readonly cached: number;
  readonly reasoning: number;
  readonly text: number;
  readonly toolCalls: number;
}

/** US dollars per million tokens; `perHour` for what is paid by time. */
export interface Price {
  readonly prompt?: number;
  readonly cached?: number;
  readonly generated?: number;
  readonly perHour?: number;
}

/** Null = no bound. */
export interface BudgetSettings {
  readonly usd: number | null;
  /** Generated and prompt tokens of the author's requests. */
  readonly authorTokens: number | null;
  readonly sandboxHours: number | null;
}

export const SPEND_PHASES = ["synthesise", "refine", "probe", "climb", "evaluate"] as const;
export type SpendPhase = (typeof SPEND_PHASES)[number];

/** A request to a model that is paid for, by whoever asks: reserved before it is sent, settled once its outcome is known. */
export interface SpendRequest {
  /** Unique; the same request asked again has the same key and is paid once. */
  readonly key: string;
  readonly phase: SpendPhase;
  readonly model: string;
  /** The most it can cost: prompt tokens as estimated, and the limit of generated ones. */
  readonly atMost: { readonly prompt: number; readonly generated: number };
}

/** What a request's sender needs of the books. `reserve` throws SpendError `exhausted` where the budget does not hold it. */
export interface SpendBooks {
  reserve(request: SpendRequest): Promise<void>;
  /** The outcome is known: what was used, or nothing where the server refused. */
  settle(key: string, used: TokenCounts): Promise<void>;
}
