/** What a run costs: tokens by class, sandbox seconds, and money by a price table. */

/** What a model wrote, by what it is for. */
export interface GeneratedTokens {
  readonly reasoning: number;
  readonly text: number;
  readonly toolCalls: number;
}

/** Tokens of one request or one rollout. `cached` are those of the prompt that the server did not compute again; `prompt` is without them. */
export interface TokenCounts extends GeneratedTokens {
  readonly prompt: number;
  readonly cached: number;
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
  /** Unique; the same request reserved again before its outcome is known has the same key and is paid once. */
  readonly key: string;
  readonly phase: SpendPhase;
  readonly model: string;
  /** The most it can cost: prompt tokens as estimated, and the limit of generated ones. */
  readonly atMost: { readonly prompt: number; readonly generated: number };
}

/** What a request's sender needs of the books. `reserve` throws SpendError. */
export interface SpendBooks {
  reserve(request: SpendRequest): Promise<void>;
  /** The outcome is known: what was used, or nothing where the server refused. */
  settle(key: string, used: TokenCounts): Promise<void>;
}

/** `exhausted`: the budget does not hold it. `unpriced`: it is in dollars, and what is to be paid has no price. */
export type SpendErrorKind = "exhausted" | "unpriced";

export class SpendError extends Error {
  readonly kind: SpendErrorKind;
  constructor(kind: SpendErrorKind, message: string) {
    super(message);
    this.name = "SpendError";
    this.kind = kind;
  }
}

/** Name of the price of an hour of one sandbox. */
export const SANDBOX_HOUR = "sandbox-hour";

export const TOKEN_CLASSES = [
  "prompt",
  "cached",
  "reasoning",
  "text",
  "toolCalls",
] as const satisfies readonly (keyof TokenCounts)[];

export const NO_TOKENS: TokenCounts = { prompt: 0, cached: 0, reasoning: 0, text: 0, toolCalls: 0 };

/** What sandboxes are used for. `author`: a model writes a task in one. */
export const SANDBOX_WORK = ["author", "validation", "rollout", "verdict"] as const;
export type SandboxWork = (typeof SANDBOX_WORK)[number];

export function addTokens(a: TokenCounts, b: TokenCounts): TokenCounts {
  return {
    prompt: a.prompt + b.prompt,
    cached: a.cached + b.cached,
    reasoning: a.reasoning + b.reasoning,
    text: a.text + b.text,
    toolCalls: a.toolCalls + b.toolCalls,
  };
}

export const generatedOf = ({ reasoning, text, toolCalls }: GeneratedTokens): number =>
  reasoning + text + toolCalls;

export const totalOf = (tokens: TokenCounts): number => tokens.prompt + tokens.cached + generatedOf(tokens);

/** An amount in dollars as it is kept: whole billionths, so that sums come out the same whatever is added first. */
export const roundUsd = (usd: number): number => Math.round(usd * 1e9) / 1e9;

export function sumUsd(amounts: Iterable<number>): number {
  let billionths = 0;
  for (const usd of amounts) billionths += Math.round(usd * 1e9);
  return billionths / 1e9;
}

/** Dollars; null where there is no price. */
export function usdOfTokens(tokens: TokenCounts, price: Price | undefined): number | null {
  if (price?.prompt === undefined || price.generated === undefined) return null;
  const { prompt, cached = prompt, generated } = price;
  return roundUsd((tokens.prompt * prompt + tokens.cached * cached + generatedOf(tokens) * generated) / 1e6);
}

/** Dollars; null where there is no price. */
export function usdOfSeconds(seconds: number, price: Price | undefined): number | null {
  return price?.perHour === undefined ? null : roundUsd((seconds / 3600) * price.perHour);
}

/** Cents, and as many more digits as there are, up to six. */
export function formatUsd(usd: number): string {
  return usd.toFixed(6).replace(/0{1,4}$/, "");
}

/** What an experiment has used of its budget. Of `usd` and `authorTokens`, `reserved` is what requests may cost whose outcome is not known. */
export interface Usage {
  readonly usd: number;
  readonly reservedUsd: number;
  readonly authorTokens: number;
  readonly reservedTokens: number;
  readonly sandboxHours: number;
}

/** What is about to be asked for; nothing of it = whether anything may begin at all. */
export interface Asked {
  readonly usd: number;
  readonly authorTokens: number;
}

/** The first bound that does not hold `asked` beside what is used, as one sentence that begins with its setting; null when all do. */
export function exhausted(budget: BudgetSettings, usage: Usage, asked: Asked | null = null): string | null {
  const bounds = [
    { name: "usd", used: usage.usd, reserved: usage.reservedUsd, next: asked?.usd, show: formatUsd },
    {
      name: "authorTokens",
      used: usage.authorTokens,
      reserved: usage.reservedTokens,
      next: asked?.authorTokens,
      show: String,
    },
    { name: "sandboxHours", used: usage.sandboxHours, reserved: 0, next: undefined, show: formatUsd },
  ] as const;
  for (const { name, used, reserved, next, show } of bounds) {
    const bound = budget[name];
    // A request may take what is left to the last bit; where none is meant, the author's own bound stops only the author.
    const fits =
      next === undefined ? name === "authorTokens" || used < bound! : roundUsd(used + next) <= bound!;
    if (bound === null || fits) continue;
    const held = reserved > 0 ? ` (${show(reserved)} of it reserved for answers that are not known)` : "";
    const more = next === undefined ? "" : `, and the next request may take ${show(next)}`;
    return `budget.${name}: ${show(used)} of ${show(bound)} spent${held}${more}`;
  }
  return null;
}
