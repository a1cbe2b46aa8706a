/** Chat requests: messages become the tokens the policy would have sampled and seen, as far as they can be told. */
import type { Message } from "../../../core/trajectory.ts";
import { type Conversation, openConversation } from "./conversation.ts";
import { messageTokens } from "./template.ts";
import { ASSISTANT, END_OF_TURN } from "./tokens.ts";

/** The action tokens of an assistant's message that is one call the policy can make; null for any other message. */
function actionTokens(conversation: Conversation, message: Message): number[] | null {
  if (message.role !== "assistant" || message.content || message.toolCalls?.length !== 1) return null;
  const open = conversation.clone();
  open.append(ASSISTANT);
  const tokens = open.match(message.toolCalls[0]!);
  return tokens && [ASSISTANT, ...tokens, END_OF_TURN];
}

/** Prompt of a chat, up to the marker that opens the assistant's turn. */
export function chatPrompt(messages: readonly Message[]): Int32Array {
  const conversation = openConversation();
  const prompt: number[] = [];
  for (const message of messages) {
    const tokens = actionTokens(conversation, message) ?? messageTokens(message);
    for (const token of tokens) conversation.append(token);
    prompt.push(...tokens);
  }
  return Int32Array.from([...prompt, ASSISTANT]);
}
