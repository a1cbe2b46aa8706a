/** The author words a task anew: its change and its tests stay, and are shown to nobody else. */
import { z } from "zod";
import type { AuthoredText, TaskType } from "../../core/task.ts";
import type { AuthorBrief } from "../synthesis/types.ts";
import { type ChatMessage, type ChatTool, createChat } from "./chat.ts";
import { argumentsOf, messageOf } from "./conversation.ts";
import { textFields } from "./delivery.ts";
import { askPaid } from "./paid.ts";
import { filled, promptText, REWRITE } from "./prompts.ts";

/** What each action asks of the author. */
const ASKED = {
  "add-behaviour":
    "Nobody solves it, and nothing is missing or wrong. Say more of the behaviour: which inputs are concerned, what happens now, what is wanted, with an example of your own. Do not say where.",
  "state-contract":
    "The text and the hidden tests disagree: work that does what the text asks for fails a test. State in the contract exactly what that test needs, and correct what the text says otherwise.",
  "remove-localisation":
    "Everybody solves it, for the text says where the change belongs. Say the same as a user who has never seen the code: without file, function, module or line.",
} as const;
export type RewriteKind = keyof typeof ASKED;

export interface RewriteTopic {
  readonly package: string;
  readonly type: TaskType;
  readonly action: RewriteKind;
  readonly diagnosis: string;
  readonly statement: string;
  readonly gold: string;
  readonly tests: string;
}

const TOOL_NAME = "Rewrite";
const text = z.strictObject(textFields);
const { $schema: _, ...parameters } = z.toJSONSchema(text, { io: "input" });
const REWRITE_TOOL: ChatTool = {
  type: "function",
  function: { name: TOOL_NAME, description: "Hand in the new text of the task.", parameters },
};

/** Texts that are sent back, and answers without a readable one, each. */
const MAX_REFUSED = 3;
/** Characters of the solution and of the tests that are shown. */
const SHOWN = 12_000;

const clip = (long: string): string => (long.length > SHOWN ? `${long.slice(0, SHOWN)}\n…` : long);

/**
 * A text in which `problemsOf` finds nothing, or why there is none. Throws AuthorError, and what the books throw. The same topic under the same key
 * asks the same.
 */
export async function rewriteText(
  topic: RewriteTopic,
  brief: AuthorBrief,
  problemsOf: (text: AuthoredText) => readonly string[],
  signal?: AbortSignal,
): Promise<AuthoredText | { readonly none: string }> {
  const ask = createChat(brief.settings, [REWRITE_TOOL]);
  const content = filled(promptText(REWRITE), {
    ...topic,
    action: ASKED[topic.action],
    gold: clip(topic.gold),
    tests: clip(topic.tests),
  });
  const messages: ChatMessage[] = [{ role: "user", content }];
  let refused = 0;
  let last = "no text";
  for (let turn = 0; refused < MAX_REFUSED && turn < brief.settings.maxTurns; turn++) {
    signal?.throwIfAborted();
    const reply = await askPaid(ask, brief, turn, messages, [REWRITE_TOOL], signal);
    messages.push(messageOf(reply));
    refused++;
    if (reply.calls.length === 0) {
      last = `it did not call ${TOOL_NAME}`;
      messages.push({ role: "user", content: `Hand the text in with the tool ${TOOL_NAME}.` });
    }
    for (const call of reply.calls) {
      const read =
        call.name === TOOL_NAME ? textOf(argumentsOf(call)) : { problems: ["there is no such tool"] };
      const problems = "problems" in read ? read.problems : problemsOf(read.text);
      if ("text" in read && problems.length === 0) return read.text;
      last = problems.join("; ");
      messages.push({
        role: "tool",
        tool_call_id: call.id,
        content: `Not accepted:\n- ${problems.join("\n- ")}`,
      });
    }
  }
  return { none: `author: no new text that passes the gates: ${last}` };
}

function textOf(
  read: ReturnType<typeof argumentsOf>,
): { readonly text: AuthoredText } | { readonly problems: readonly string[] } {
  if ("problem" in read) return { problems: [read.problem] };
  const parsed = text.safeParse(read.value);
  if (parsed.success) return { text: parsed.data };
  return {
    problems: parsed.error.issues.map(({ path, message }) => `${path.join(".") || "arguments"}: ${message}`),
  };
}
