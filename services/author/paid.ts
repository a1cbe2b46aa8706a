/** Requests that are paid for: reserved before they are sent, settled once their outcome is known. */
import { NO_TOKENS } from "../../core/spend.ts";
import type { AuthorBrief } from "../synthesis/types.ts";
import type { Ask, ChatMessage, ChatTool } from "./chat.ts";
import type { AuthorReply } from "./reply.ts";
import { AuthorError } from "./types.ts";

/** Bytes of JSON per token, at least: tokens of code and of English are longer. */
const BYTES_PER_TOKEN = 3;

export function promptBound(messages: readonly ChatMessage[], tools: readonly ChatTool[]): number {
  return Math.ceil(Buffer.byteLength(JSON.stringify([messages, tools])) / BYTES_PER_TOKEN);
}

/**
 * Turn `turn` of the conversation `brief.key`. The same turn asked again has the same key: what an attempt before reserved for it, without ever
 * learning the outcome, is paid beside it, as the books have it; what was answered is not asked again.
 */
export async function askPaid(
  ask: Ask,
  { settings, books, key: conversation, phase = "synthesise", replies }: Omit<AuthorBrief, "failures">,
  turn: number,
  messages: readonly ChatMessage[],
  tools: readonly ChatTool[],
  signal?: AbortSignal,
): Promise<AuthorReply> {
  const key = `${conversation}/${turn}`;
  const { model, maxTokens } = settings;
  const atMost = { prompt: promptBound(messages, tools), generated: maxTokens };
  const known = (await replies?.find(key)) as AuthorReply | undefined;
  if (known !== undefined) {
    // Already so, but where an attempt ended between the two.
    await books.settle(key, known.used);
    return known;
  }
  await books.reserve({ key, phase, model, atMost });
  try {
    const reply = await ask(messages, signal);
    await replies?.keep(key, reply);
    await books.settle(key, reply.used);
    return reply;
  } catch (error) {
    if (!(error instanceof AuthorError)) throw error;
    const { spent } = error;
    if (spent === "nothing") await books.settle(key, NO_TOKENS);
    else if (spent === "at-most")
      await books.settle(key, { ...NO_TOKENS, prompt: atMost.prompt, text: atMost.generated });
    else if (spent !== "unknown") await books.settle(key, spent);
    throw error;
  }
}
