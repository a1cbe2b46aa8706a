/** The trace that every scheduler is run on: what each trajectory will say and wait for, from the seed and its place alone. */
import { type RandomStream, random } from "../../core/random.ts";
import type { NodeSettings } from "./settings.ts";

export interface Turn {
  /** Tokens new to the engine: what the tools said. */
  readonly prompt: number;
  readonly tokens: number;
  /** Of its calls. */
  readonly toolSeconds: number;
}

export interface Trajectory {
  readonly turns: readonly Turn[];
  /** Prompt and sampled tokens. */
  readonly context: number;
  readonly sampled: number;
}

/** Of one task: `deal` and `position` in it, and how often it was sampled before. */
export interface GroupPlace {
  readonly deal: number;
  readonly position: number;
  readonly again: number;
}

/** Standard normal: Box and Muller's transform. */
export function normal(stream: RandomStream): number {
  const radius = Math.sqrt(-2 * Math.log(1 - stream.next()));
  return radius * Math.cos(2 * Math.PI * stream.next());
}

interface Length {
  readonly median: number;
  readonly sigma: number;
  readonly limit: number;
}

function drawn({ median, sigma, limit }: Length, stream: RandomStream, factor = 0): number {
  return Math.min(limit, median * Math.exp(factor + sigma * normal(stream)));
}

/** The trajectories of a group, by member. */
export function groupTrace(settings: NodeSettings, place: GroupPlace): Trajectory[] {
  const { deal, position, again } = place;
  const { lengths, seed, groupSize } = settings;
  const task = lengths.turns.taskSigma * normal(random(seed, "task", deal, position));
  return Array.from({ length: groupSize }, (_, member) => {
    const stream = random(seed, "trajectory", deal, position, again, member);
    return trajectory(lengths, Math.ceil(drawn(lengths.turns, stream, task)), stream);
  });
}

function trajectory(lengths: NodeSettings["lengths"], wanted: number, stream: RandomStream): Trajectory {
  const turns: Turn[] = [];
  let context = 0;
  let sampled = 0;
  let prompt = lengths.promptTokens;
  while (turns.length < wanted && context + prompt < lengths.contextLimit) {
    const room = lengths.contextLimit - context - prompt;
    const tokens = Math.min(room, Math.ceil(drawn(lengths.turnTokens, stream)));
    turns.push({ prompt, tokens, toolSeconds: drawn(lengths.toolSeconds, stream) });
    context += prompt + tokens;
    sampled += tokens;
    prompt = Math.ceil(drawn(lengths.resultTokens, stream));
  }
  return { turns, context, sampled };
}

/** Whether all rewards of the group are equal, so that nothing of it is trained on. */
export function isUniform({ seed, trainer }: NodeSettings, { deal, position, again }: GroupPlace): boolean {
  return random(seed, "uniform", deal, position, again).next() < trainer.uniformShare;
}
