/** A rollout as a trajectory of ATIF-v1.8 (docs/atif.md). Pure. */
import type { Message, Sampling, Segment, Trajectory, TurnRecord } from "../../../core/trajectory.ts";

export const ATIF_VERSION = "ATIF-v1.8";

/** What is known of a rollout beside its trajectory; null = not on record. */
export interface RolloutFacts {
  /** Key of the rollout. */
  readonly key: string;
  readonly experiment: string;
  readonly iteration: number | null;
  readonly try: number | null;
  readonly phase: string | null;
  readonly group: string;
  readonly member: number;
  readonly taskId: string;
  readonly level: number;
  readonly policy: string;
  readonly sampling: Sampling | null;
  readonly truncated: boolean;
  readonly outcome: string | null;
  readonly rule: string | null;
  readonly rawReward: number | null;
  readonly reward: number | null;
  readonly treeHash: string;
}

export interface AtifAgent {
  readonly name: string;
  readonly version: string;
  readonly tools: readonly object[];
}

/** Exact tokens of one turn. */
interface TurnTokens {
  readonly segment: number;
  /** The whole prompt, what was said before included. */
  readonly prompt: readonly number[];
  readonly completion: readonly number[];
  readonly logProbs: readonly number[];
  /** Of the completion: 1 = trained on. */
  readonly mask: readonly (0 | 1)[];
}

export class AtifError extends Error {
  readonly kind = "record";
  constructor(message: string) {
    super(message);
    this.name = "AtifError";
  }
}

/** Throws AtifError where turns and segments of the record do not fit together. */
export function atifTrajectory(trajectory: Trajectory, facts: RolloutFacts, agent: AtifAgent): object {
  const { messages, turns, weightVersion, exit, generatedTokens } = trajectory;
  const tokens = turnTokens(turns, trajectory.segments);
  const firstTurn = messages.findIndex(({ role }) => role === "assistant");
  const opening = firstTurn === -1 ? messages : messages.slice(0, firstTurn);
  const replies = messages.filter((message) => message.role === "assistant");
  const steps = [
    ...opening.map((message) => ({
      source: message.role === "system" ? "system" : "user",
      message: message.content ?? "",
    })),
    ...turns.map((turn, i) => agentStep(turn, replies[i], tokens[i]!, weightVersion)),
  ];
  const { key, experiment, policy, ...about } = facts;
  return {
    schema_version: ATIF_VERSION,
    session_id: key,
    trajectory_id: key,
    agent: { name: agent.name, version: agent.version, model_name: policy, tool_definitions: agent.tools },
    steps: steps.map((step, i) => ({ step_id: i + 1, ...step })),
    final_metrics: {
      total_prompt_tokens: sum(turns.map(({ promptTokens }) => promptTokens)),
      total_completion_tokens: generatedTokens,
      total_steps: steps.length,
    },
    extra: {
      experiment,
      iteration: about.iteration,
      try: about.try,
      phase: about.phase,
      group: about.group,
      member: about.member,
      task_id: about.taskId,
      statement_level: about.level,
      policy_version: weightVersion,
      sampling: about.sampling && {
        temperature: about.sampling.temperature,
        top_p: about.sampling.topP,
        top_k: about.sampling.topK,
        min_p: about.sampling.minP,
      },
      segments: trajectory.segments.length,
      exit,
      truncated: about.truncated,
      outcome: about.outcome,
      rule: about.rule,
      raw_reward: about.rawReward,
      reward: about.reward,
      tree_hash: about.treeHash,
    },
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function agentStep(
  { promptTokens, completionTokens, toolCalls, results }: TurnRecord,
  reply: Message | undefined,
  tokens: TurnTokens,
  policyVersion: string,
): object {
  return {
    source: "agent",
    message: reply?.content ?? "",
    ...(toolCalls.length === 0
      ? {}
      : {
          tool_calls: toolCalls.map(({ id, name, arguments: text }) => ({
            tool_call_id: id,
            function_name: name,
            ...argumentsOf(text),
          })),
        }),
    // A reply that was cut is final: its calls were never run.
    ...(results.length === 0
      ? {}
      : {
          observation: {
            results: results.map((content, i) => ({ source_call_id: toolCalls[i]?.id ?? null, content })),
          },
        }),
    metrics: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      prompt_token_ids: tokens.prompt,
      completion_token_ids: tokens.completion,
      logprobs: tokens.logProbs,
      extra: { segment: tokens.segment, loss_mask: tokens.mask, policy_version: policyVersion },
    },
    llm_call_count: 1,
  };
}

/** The format wants an object; what the model wrote instead is kept beside it. */
function argumentsOf(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { arguments: value };
  } catch {
    // Said below.
  }
  return { arguments: {}, extra: { arguments_text: text } };
}

/**
 * Each turn's tokens, cut out of the segments: a turn's prompt is all of its segment before what it sampled, and the next turn extends that
 * unless the segment ends there.
 */
function turnTokens(turns: readonly TurnRecord[], segments: readonly Segment[]): TurnTokens[] {
  let segment = 0;
  let end = 0;
  return turns.map(({ turn, promptTokens, completionTokens }) => {
    if (end > 0 && end === segments[segment]?.tokens.length) segment++;
    const found = segments[segment];
    end = promptTokens + completionTokens;
    if (found === undefined || end > found.tokens.length)
      throw new AtifError(
        `turn ${turn}: ${end} tokens, but segment ${segment} has ${found?.tokens.length ?? "none"}`,
      );
    return {
      segment,
      prompt: found.tokens.slice(0, promptTokens),
      completion: found.tokens.slice(promptTokens, end),
      logProbs: found.logProbs.slice(promptTokens, end),
      mask: found.trainable.slice(promptTokens, end),
    };
  });
}
