/** Conversations with the embedded policy, written as its tokens. */
import { type Conversation, openConversation } from "../../services/policy/nano/conversation.ts";
import { ASSISTANT, END_OF_TURN, encodeText, SYSTEM, TOOL, USER } from "../../services/policy/nano/tokens.ts";
import { parseToolCalls } from "../../services/policy/tool-calls.ts";

export const SOURCE = `'use strict';
function clamp(value, low, high) {
  if (value < low) return low;
  if (value > high) return low;
  return value;
}
function clamp2(value, low, high) {
  if (value < low) return low;
  return clamp(value, low, high);
}
module.exports = { clamp: clamp, clamp2: clamp2 };`;

export const COMMAND = `node -e 'show(() => require("./").clamp(9, 1, 5))'`;

function fenced(title: string, text: string): string {
  return `${title}:\n\n\`\`\`sh\n${text}\n\`\`\``;
}

export const STATEMENT = [
  "clamp: the result, a number, is wrong",
  fenced("Run", COMMAND),
  fenced("Prints", "1"),
  fenced("Should print", "5"),
  "The mistake seems to be in the function `clamp`.",
  "Look at `index.js:4`: the wrong variable (`variable`).",
].join("\n\n");

export function say(conversation: Conversation, role: number, text: string): void {
  for (const token of [role, ...encodeText(text), END_OF_TURN]) conversation.append(token);
}

export function readText(path: string, text: string): string {
  return `${path}\n${text
    .split("\n")
    .map((line, index) => `${index + 1}. ${line}`)
    .join("\n")}`;
}

export function started(statement = STATEMENT): Conversation {
  const conversation = openConversation();
  say(conversation, SYSTEM, "You repair packages.");
  say(conversation, USER, statement);
  return conversation;
}

/** Takes a turn of these tokens and gives the calls it stands for. */
export function take(conversation: Conversation, ...tokens: readonly number[]) {
  conversation.append(ASSISTANT);
  for (const token of [...tokens, END_OF_TURN]) conversation.append(token);
  return parseToolCalls(conversation.render(), "c");
}

export function answer(conversation: Conversation, ...results: readonly string[]): void {
  for (const result of results) say(conversation, TOOL, result);
}

/** Ids of the six tools, in the order of TOOLS. */
export const [GLOB, READ, EDIT, UNDO, CHECK, FINISH] = [512, 513, 514, 515, 516, 517] as const;

/** Up to the point at which the source has been read. */
export function informed(statement = STATEMENT, source = SOURCE): Conversation {
  const conversation = started(statement);
  take(conversation, GLOB);
  answer(conversation, "index.js\ntest.js", "No files matched.");
  take(conversation, READ, 1024);
  answer(conversation, readText("index.js", source));
  return conversation;
}

/** Candidates of the turn that these tokens begin; the conversation itself stays where it was. */
export function candidates(conversation: Conversation, ...tokens: readonly number[]) {
  const trial = conversation.clone();
  trial.append(ASSISTANT);
  for (const token of tokens) trial.append(token);
  return trial.next();
}

/** Token of the edit that turns the source into `wanted`; throws where there is none. */
export function editToken(conversation: Conversation, path: string, from: string, wanted: string): number {
  const match = conversation.match({
    name: "Edit",
    arguments: JSON.stringify({ file_path: path, old_string: from, new_string: wanted }),
  });
  if (match === null) throw new Error("no such edit");
  return match[1]!;
}
