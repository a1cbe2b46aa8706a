/** How an exercise is solved, as tokens: what a scribe is warmed up on. */

import { firstMessages } from "../../services/harness/prompt.ts";
import { TOOL_DEFINITIONS } from "../../services/harness/tools/index.ts";
import type { ModelTokenizer } from "../../services/policy/model/tokenizer.ts";
import type { PolicyTemplate } from "../../services/policy/template.ts";
import type { Exercise } from "../../services/synthesis/exercise.ts";
import { exercisePath, exerciseStatement } from "../../services/synthesis/exercise.ts";
import type { BatchRow } from "../../services/trainers/batch.ts";

/** The marker that ends a scribe's turn (`scribe.py`). */
const END = "<|end|>";
const CLOSING = "Done.";

/** As models of the Hermes family write a call. */
export function callOf(exercise: Exercise): string {
  const call = {
    name: "Write",
    arguments: { file_path: exercisePath(exercise), content: `${exercise.words.join(" ")}\n` },
  };
  return `<tool_call>\n${JSON.stringify(call)}\n</tool_call>`;
}

function resultOf(exercise: Exercise): string {
  return `Wrote ${exercisePath(exercise)} (${exercise.words.join(" ").length + 1} bytes).`;
}

/** What a tokenizer is made from: every text that a scribe reads or writes, in the order of a rollout. */
export function textOf(exercise: Exercise): string {
  return `${exerciseStatement(exercise)}${callOf(exercise)}${resultOf(exercise)}${CLOSING}`;
}

export function promptOf(exercise: Exercise, template: PolicyTemplate): number[] {
  return template.start(firstMessages(exerciseStatement(exercise)), TOOL_DEFINITIONS);
}

/** A whole rollout that solves it, every turn of the assistant trainable. */
export function warmUpRow(
  exercise: Exercise,
  index: number,
  template: PolicyTemplate,
  tokenizer: ModelTokenizer,
): BatchRow {
  const turn = (text: string) => tokenizer.encode(`${text}${END}`, { continued: true });
  const call = turn(callOf(exercise));
  const result = template.extend(
    [{ role: "tool", toolCallId: "call-0-0", content: resultOf(exercise) }],
    call,
  );
  const parts = [promptOf(exercise, template), call, result, turn(CLOSING)];
  const tokens = parts.flat();
  return {
    group: `exercise-${index}`,
    rollout: `exercise-${index}`,
    advantage: 1,
    reward: 1,
    raw: 1,
    tokens,
    trainable: parts.flatMap((part, i) => part.map((): 0 | 1 => (i % 2 === 1 ? 1 : 0))),
    logProbs: tokens.map(() => 0),
  };
}
