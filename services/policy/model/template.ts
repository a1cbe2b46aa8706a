/**
 * PolicyTemplate of a model folder: its own chat template and tokenizer. The first prompt is rendered whole; after that, only what is new: the
 * template renders the new messages behind a placeholder for the assistant's turn, and what it writes behind the placeholder is taken. So a
 * template that drops older reasoning from a history cannot fork a conversation.
 */
import type { CallFormat } from "../../../core/experiment.ts";
import type { Message } from "../../../core/trajectory.ts";
import { parseTurn, turnSpans } from "../calls/families.ts";
import type { PolicyTemplate } from "../template.ts";
import { createChatRenderer, type RenderChat } from "./chat-template.ts";
import { badModel, type ModelFiles, readModelFiles } from "./files.ts";
import { createGuard, type Guard, PLACEHOLDER } from "./guard.ts";
import { createModelTokenizer, type ModelTokenizer } from "./tokenizer.ts";

export interface ModelTemplateInput {
  readonly files: ModelFiles;
  readonly calls: CallFormat;
  /** The folder or the policy, for messages of errors. */
  readonly where: string;
}

/** What the policy itself said may hold markers, which templates look for. */
function guarded(message: Message, { guard }: Guard): Message {
  return message.role === "assistant" ? message : { ...message, content: guard(message.content) };
}

/** What a template writes from the assistant's turn on: the rest of the turn and its end, then the messages. */
interface Tail {
  readonly text: string;
  /** The turn's end alone belongs to the prompt: what stands before it is of the placeholder. */
  readonly endOnly: boolean;
}

const BEFORE: Message = { role: "user", content: "-" };

/** Some templates take no result without a call before it: then the placeholder is one. */
function tailOf(render: RenderChat, messages: readonly Message[], missing: () => Error): Tail {
  const behind = (turn: Message) => {
    const text = render({ messages: [BEFORE, turn, ...messages], open: true });
    const at = text.indexOf(PLACEHOLDER);
    return at < 0 ? null : text.slice(at + PLACEHOLDER.length);
  };
  const attempts: readonly (readonly [boolean, Message])[] = [
    [false, { role: "assistant", content: PLACEHOLDER }],
    [true, { role: "assistant", content: null, toolCalls: callsFor(messages) }],
  ];
  let failed: unknown;
  for (const [endOnly, turn] of attempts) {
    try {
      const text = behind(turn);
      if (text !== null) return { text, endOnly };
    } catch (error) {
      failed ??= error;
    }
  }
  throw failed ?? missing();
}

/** A call for each result; the last one's name is the placeholder. */
function callsFor(messages: readonly Message[]) {
  const ids = messages.flatMap((message) => (message.role === "tool" ? [message.toolCallId] : []));
  const last = ids.length - 1;
  return (ids.length > 0 ? ids : ["call-0"]).map((id, i) => ({
    id,
    name: i === Math.max(last, 0) ? PLACEHOLDER : "call",
    arguments: "{}",
  }));
}

/**
 * Tokens to add behind a sampled turn. Its end is in the ledger where the model sampled it, and is what the template says where it did not.
 */
function behindTurn(
  ids: readonly number[],
  sampled: readonly number[],
  tail: Tail,
  ends: ReadonlySet<number>,
) {
  const end = ids.findIndex((id) => ends.has(id));
  if (end < 0) return [...ids];
  if (sampled.at(-1) === ids[end]) return ids.slice(end + 1);
  return ids.slice(tail.endOnly ? end : 0);
}

export function createModelTemplate({ files, calls, where }: ModelTemplateInput): PolicyTemplate {
  const parts = readModelFiles(where, files);
  const tokenizer: ModelTokenizer = createModelTokenizer(where, parts);
  const render = createChatRenderer(where, parts);
  const guard = createGuard(tokenizer.markers);
  const { restore } = guard;
  const ends = new Set([...tokenizer.special, ...parts.endIds]);
  const missing = () =>
    badModel(
      where,
      parts.chatTemplate.file,
      "the chat template leaves an assistant's turn out of a conversation",
    );

  const template: PolicyTemplate = {
    start: (messages, tools) => {
      const text = render({ messages: messages.map((one) => guarded(one, guard)), tools, open: true });
      return tokenizer.encode(text, { restore });
    },
    extend: (messages, sampled) => {
      const tail = tailOf(
        render,
        messages.map((one) => guarded(one, guard)),
        missing,
      );
      return behindTurn(tokenizer.encode(tail.text, { restore, continued: true }), sampled, tail, ends);
    },
    parse: (text, callPrefix, tools) => parseTurn(calls, text, callPrefix, tools),
    spans: (text) => turnSpans(calls, text),
  };
  // What cannot work is said before anything is sampled.
  template.start([{ role: "system", content: "-" }, BEFORE], []);
  template.extend([{ role: "tool", toolCallId: "call-0-0", content: "-" }], []);
  return template;
}
