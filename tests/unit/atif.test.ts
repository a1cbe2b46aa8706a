/** Trajectories as ATIF-v1.8: every token of the segments is in the turn that saw or sampled it. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message, ToolCall, Trajectory, TurnRecord } from "../../core/trajectory.ts";
import { AtifError, atifTrajectory, type RolloutFacts } from "../../services/formats/index.ts";
import { segmentsOf } from "../../services/harness/index.ts";

const facts: RolloutFacts = {
  key: "e/it/1/try/1/climb/0/0/3",
  experiment: "e",
  iteration: 1,
  try: 1,
  phase: "climb",
  group: "e/it/1/try/1/climb/0/0",
  member: 3,
  taskId: "t0000000000000001",
  level: 2,
  policy: "nano-1",
  sampling: { temperature: 1, topP: 1, topK: 0, minP: 0 },
  truncated: false,
  outcome: "passed",
  rule: "all-passed",
  rawReward: 1,
  reward: 0.9,
  treeHash: "00",
};

interface Turn {
  readonly prompt: readonly number[];
  readonly sampled: readonly number[];
  readonly newSegment: boolean;
  readonly calls: readonly string[];
}

const turn: fc.Arbitrary<Turn> = fc.record({
  prompt: fc.array(fc.nat(300), { minLength: 1, maxLength: 5 }),
  sampled: fc.array(fc.nat(300), { minLength: 1, maxLength: 4 }),
  newSegment: fc.boolean(),
  calls: fc.array(fc.constantFrom('{"command":"ls"}', "no JSON", "[1]", ""), { maxLength: 2 }),
});

/** As the harness records it. */
function trajectoryOf(turns: readonly Turn[]): Trajectory {
  const records: TurnRecord[] = [];
  const messages: Message[] = [
    { role: "system", content: "be good" },
    { role: "user", content: "do it" },
  ];
  let history = 0;
  for (const [i, { prompt, sampled, newSegment, calls }] of turns.entries()) {
    const promptTokens = (newSegment ? 0 : history) + prompt.length;
    const toolCalls = calls.map(
      (text, k): ToolCall => ({ id: `call-${i}-${k}`, name: "Bash", arguments: text }),
    );
    records.push({
      turn: i,
      promptTokens,
      completionTokens: sampled.length,
      toolCalls,
      results: toolCalls.map(({ id }) => `result of ${id}`),
      treeHash: null,
    });
    messages.push({ role: "assistant", content: i === 0 ? null : `turn ${i}`, toolCalls });
    for (const { id } of toolCalls)
      messages.push({ role: "tool", toolCallId: id, content: `result of ${id}` });
    history = promptTokens + sampled.length;
  }
  const rows = turns.map(({ prompt, sampled, newSegment }) => ({
    promptTokens: prompt,
    sampledTokens: sampled,
    logProbs: sampled.map((token) => -token / 1000),
    newSegment,
    weightVersion: "nano-1",
  }));
  return {
    segments: segmentsOf(rows),
    turns: records,
    messages,
    weightVersion: "nano-1",
    exit: "agent",
    generatedTokens: turns.reduce((sum, { sampled }) => sum + sampled.length, 0),
  };
}

interface Step {
  readonly step_id: number;
  readonly source: string;
  readonly message: string;
  readonly tool_calls?: readonly {
    readonly arguments: object;
    readonly extra?: { readonly arguments_text: string };
  }[];
  readonly metrics: {
    readonly prompt_tokens: number;
    readonly prompt_token_ids: readonly number[];
    readonly completion_token_ids: readonly number[];
    readonly logprobs: readonly number[];
    readonly extra: { readonly segment: number; readonly loss_mask: readonly number[] };
  };
}

const agent = { name: "leaf", version: "1", tools: [] };
const stepsOf = (trajectory: Trajectory) =>
  (atifTrajectory(trajectory, facts, agent) as { readonly steps: readonly Step[] }).steps;

describe("an ATIF trajectory", () => {
  it("gives each turn the prompt it saw and the tokens it sampled", () => {
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 6 }), (turns) => {
        const steps = stepsOf(trajectoryOf(turns));
        expect(steps.map(({ step_id }) => step_id)).toEqual(steps.map((_, i) => i + 1));
        let seen: number[] = [];
        let segment = 0;
        for (const [i, { prompt, sampled, newSegment }] of turns.entries()) {
          if (newSegment && i > 0) segment++;
          seen = [...(newSegment ? [] : seen), ...prompt];
          expect(steps[i + 2]!.metrics).toMatchObject({
            prompt_tokens: seen.length,
            prompt_token_ids: seen,
            completion_token_ids: sampled,
            logprobs: sampled.map((token) => -token / 1000),
            extra: { segment, loss_mask: sampled.map(() => 1) },
          });
          seen = [...seen, ...sampled];
        }
      }),
    );
  });

  it("keeps arguments that are no object as text", () => {
    const [, , step] = stepsOf(
      trajectoryOf([{ prompt: [1], sampled: [2], newSegment: false, calls: ['{"a":1}', "[1]", "no"] }]),
    );
    expect(step?.tool_calls?.map((call) => [call.arguments, call.extra?.arguments_text])).toEqual([
      [{ a: 1 }, undefined],
      [{}, "[1]"],
      [{}, "no"],
    ]);
  });

  it("says of the rollout what the format has no field for", () => {
    expect(atifTrajectory(trajectoryOf([]), { ...facts, sampling: null }, agent)).toMatchObject({
      schema_version: "ATIF-v1.8",
      session_id: facts.key,
      agent: { model_name: "nano-1" },
      extra: {
        policy_version: "nano-1",
        sampling: null,
        outcome: "passed",
        raw_reward: 1,
        statement_level: 2,
      },
    });
  });

  it("is refused where turns and segments contradict each other", () => {
    const whole = trajectoryOf([{ prompt: [1], sampled: [2, 3], newSegment: false, calls: [] }]);
    expect(() => stepsOf({ ...whole, segments: [] })).toThrow(AtifError);
    const cut = whole.segments.map(({ tokens, trainable, logProbs }) => ({
      tokens: tokens.slice(1),
      trainable: trainable.slice(1),
      logProbs: logProbs.slice(1),
    }));
    expect(() => stepsOf({ ...whole, segments: cut })).toThrow("turn 0: 3 tokens, but segment 0 has 2");
  });
});
