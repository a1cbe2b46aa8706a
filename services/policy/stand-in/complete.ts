/**
 * Completions of a stand-in: a policy that knows each task's solution and uses it with a known chance, so that a pipeline can be shown on tasks that
 * no policy of this machine solves. It is no measurement of anything but the pipeline. A rollout has two turns: the solution's calls, or none, and
 * the end. A reply depends on the prompt, the pass rates, the answers and the seed alone.
 */
import { random } from "../../../core/random.ts";
import type { FileChange } from "../../../core/task.ts";
import type { EngineReply } from "../nano/engine.ts";
import { ASSISTANT, END_OF_TURN, encodeText, USER } from "../nano/tokens.ts";
import { renderToolCall } from "../tool-calls.ts";
import { solutionCalls } from "./calls.ts";
import type { StandInCheckpoint } from "./checkpoint.ts";

export interface Answer {
  /** Level of the statement that was asked. */
  readonly level: number;
  readonly gold: readonly FileChange[];
}

/** The answer to a statement, by its text; null where nobody knows one. */
export type AnswerBook = (statement: string) => Promise<Answer | null>;

export interface StandInRequest {
  readonly prompt: Int32Array;
  readonly maxTokens: number;
  /** Unsigned 32-bit. */
  readonly seed: number;
}

const DONE = "Done.";
const NOTHING = "I looked around and changed nothing.";

interface Asked {
  /** Null in a prompt without a user's message. */
  readonly statement: string | null;
  /** Turns that the assistant has ended. */
  readonly turns: number;
}

export function askedBy(prompt: Int32Array): Asked {
  const start = prompt.indexOf(USER);
  const end = start < 0 ? -1 : prompt.indexOf(END_OF_TURN, start);
  const statement = end < 0 ? null : Buffer.from(prompt.subarray(start + 1, end)).toString("utf8");
  // The last marker opens the turn that is asked for.
  const turns = prompt.filter((token) => token === ASSISTANT).length - 1;
  return { statement, turns: Math.max(0, turns) };
}

function say(text: string, chance: number, maxTokens: number): EngineReply {
  const whole = [...encodeText(text), END_OF_TURN];
  const tokens = whole.slice(0, maxTokens);
  // What is said is one choice, made at its first token; the others follow from it.
  const logProbs = tokens.map((_, i) => (i === 0 ? Math.log(chance) : 0));
  const finish = tokens.length === whole.length ? "stop" : "length";
  const said = finish === "stop" ? text : Buffer.from(tokens).toString("utf8");
  return { tokens, logProbs, text: said, finish };
}

export async function completeStandIn(
  request: StandInRequest,
  { passRates }: StandInCheckpoint,
  answers: AnswerBook,
): Promise<EngineReply> {
  const { statement, turns } = askedBy(request.prompt);
  if (turns > 0) return say(DONE, 1, request.maxTokens);
  const answer = statement === null ? null : await answers(statement);
  if (answer === null) return say(NOTHING, 1, request.maxTokens);
  const chance = passRates[answer.level]!;
  const solves = random(request.seed, "stand-in").next() < chance;
  return solves
    ? say(solutionCalls(answer.gold).map(renderToolCall).join("\n"), chance, request.maxTokens)
    : say(NOTHING, 1 - chance, request.maxTokens);
}
