/** What a chat completion must be, and the tokens that it says it took. */
import { z } from "zod";
import type { TokenCounts } from "../../core/spend.ts";

const tokens = z.int().min(0);

const completion = z.object({
  model: z.string().min(1),
  choices: z
    .array(
      z.object({
        message: z.object({
          content: z.string().nullish(),
          tool_calls: z
            .array(
              z.object({
                id: z.string().min(1),
                function: z.object({ name: z.string(), arguments: z.string() }),
              }),
            )
            .nullish(),
        }),
      }),
    )
    .min(1),
  usage: z.object({
    prompt_tokens: tokens.min(1),
    completion_tokens: tokens,
    prompt_tokens_details: z.object({ cached_tokens: tokens.nullish() }).nullish(),
    completion_tokens_details: z.object({ reasoning_tokens: tokens.nullish() }).nullish(),
  }),
});

export interface AuthorCall {
  readonly id: string;
  readonly name: string;
  /** As the model wrote them: not always JSON. */
  readonly arguments: string;
}

export interface AuthorReply {
  readonly model: string;
  readonly text: string;
  readonly calls: readonly AuthorCall[];
  readonly used: TokenCounts;
}

/** A reply that is none; `usage` where it is one but for impossible or missing counts. */
export class BadReply extends Error {
  readonly usage: boolean;
  constructor(message: string, usage = false) {
    super(message);
    this.usage = usage;
  }
}

/** Throws BadReply. `maxTokens`: what was allowed to be generated; `sentBytes`: of the request, of which no token is less than one. */
export function readReply(body: unknown, maxTokens: number, sentBytes: number): AuthorReply {
  if (typeof body !== "object" || body === null)
    throw new BadReply(`answers no JSON object but ${kindOf(body)}`);
  const read = completion.safeParse(body);
  if (!read.success) {
    const { path, message } = read.error.issues[0]!;
    const at = path.join(".") || "the reply";
    throw new BadReply(`${at}: ${message}`, path[0] === "usage");
  }
  const { model, choices, usage } = read.data;
  const { message } = choices[0]!;
  const text = message.content ?? "";
  const calls = (message.tool_calls ?? []).map(({ id, function: { name, arguments: written } }) => ({
    id,
    name,
    arguments: written,
  }));
  const used = countTokens(usage, text, calls);
  const problem = impossible(usage, used, { maxTokens, sentBytes }, text !== "" || calls.length > 0);
  if (problem !== null) throw new BadReply(problem, true);
  return { model, text, calls, used };
}

type Usage = z.infer<typeof completion>["usage"];

/**
 * Servers tell reasoning apart, but not text from calls: what is left after the reasoning is split by their characters, and rounding goes
 * to the text, so that the classes always add up to what the server counted.
 */
function countTokens(usage: Usage, text: string, calls: readonly AuthorCall[]): TokenCounts {
  const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
  const reasoning = usage.completion_tokens_details?.reasoning_tokens ?? 0;
  const visible = usage.completion_tokens - reasoning;
  const inCalls = calls.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0);
  const share = inCalls === 0 ? 0 : inCalls / (inCalls + text.length);
  const toolCalls = Math.floor(visible * share);
  return { prompt: usage.prompt_tokens - cached, cached, reasoning, text: visible - toolCalls, toolCalls };
}

function impossible(
  { prompt_tokens, completion_tokens }: Usage,
  used: TokenCounts,
  { maxTokens, sentBytes }: { readonly maxTokens: number; readonly sentBytes: number },
  wrote: boolean,
): string | null {
  if (prompt_tokens > sentBytes)
    return `usage: a prompt of ${prompt_tokens} tokens where the request has ${sentBytes} bytes`;
  if (used.cached > prompt_tokens)
    return `usage: ${used.cached} cached tokens of a prompt of ${prompt_tokens}`;
  if (used.reasoning > completion_tokens)
    return `usage: ${used.reasoning} reasoning tokens of ${completion_tokens} generated`;
  if (completion_tokens > maxTokens)
    return `usage: ${completion_tokens} tokens generated where synthesis.author.maxTokens allows ${maxTokens}`;
  return wrote && completion_tokens === 0 ? "usage: an answer of 0 tokens" : null;
}

function kindOf(body: unknown): string {
  if (typeof body === "string") return /^\s*</.test(body) ? "HTML" : "text";
  return body === null || body === undefined ? "nothing" : typeof body;
}
