/** The experiment that the scale bench runs: the paper's settings, cut to a number of rollouts. Pure. */
import type { ExperimentSettings, TaskSetSettings } from "../core/experiment.ts";

/** Rollouts of one unit. */
export const UNIT = 1000;

const PROBES = 8;
const GROUP_SIZE = 8;
const SAMPLES = 4;

/** What becomes of a pool's candidate: a third fails a gate, a third is admitted at once, a third is refined and then dropped. */
export function fateOf(candidate: number): "rejected" | "admitted" | "dropped" {
  return (["rejected", "admitted", "dropped"] as const)[candidate % 3]!;
}

/** Every other candidate of a fixed set is valid. */
export function isValidForSet(candidate: number): boolean {
  return candidate % 2 === 0;
}

/** One iteration of `units` × 1,000 rollouts: 384 of each thousand probe, 256 climb, 240 evaluate, 120 validate checkpoints. */
export function scaledSettings(paper: ExperimentSettings, units: number): ExperimentSettings {
  const admitted = 16 * units;
  const set = (like: TaskSetSettings, tasks: number): TaskSetSettings => ({
    ...like,
    tasks,
    samplesPerTask: SAMPLES,
  });
  const [name, measured] = Object.entries(paper.evaluation.sets)[0]!;
  return {
    ...paper,
    // Activities that do nothing answer for policies and trainers; the climb is the one whose runs repeat.
    policy: { ...paper.policy, kind: "openai", baseUrl: "http://127.0.0.1:8000/v1", engines: null },
    trainer: { ...paper.trainer, kind: "nano", size: "any" },
    iterations: 1,
    // One more is wanted than there will be, so that the pool ends with its last candidate and none is surplus.
    synthesis: { ...paper.synthesis, poolTasks: admitted + 1, maxCandidates: 3 * admitted },
    filter: { ...paper.filter, probes: PROBES, maxRefinements: 1, probesAsGroups: false },
    climb: {
      ...paper.climb,
      updates: 2 * units,
      tasksPerBatch: 16,
      groupSize: GROUP_SIZE,
      pace: { ...paper.climb.pace, kind: "exact" },
    },
    selection: { everyUpdates: units, set: set(paper.selection.set, 15 * units) },
    evaluation: { ...paper.evaluation, sets: { [name]: set(measured, 30 * units) }, greedy: false },
    overrides: [],
  };
}

/** Rollouts that such an experiment makes: probes (a dropped candidate was probed twice), groups, evaluations, validations. */
export function rolloutsOf(settings: ExperimentSettings): number {
  const { synthesis, filter, climb, selection, evaluation, iterations } = settings;
  let probeGroups = 0;
  for (let candidate = 0; candidate < synthesis.maxCandidates; candidate++)
    probeGroups += { rejected: 0, admitted: 1, dropped: 2 }[fateOf(candidate)];
  const checkpoints = Math.ceil(climb.updates / selection.everyUpdates);
  const samples = ({ tasks, samplesPerTask }: TaskSetSettings) => tasks * samplesPerTask;
  const measured = Object.values(evaluation.sets).reduce((sum, set) => sum + samples(set), 0);
  return (
    probeGroups * filter.probes +
    climb.updates * climb.tasksPerBatch * climb.groupSize +
    checkpoints * samples(selection.set) +
    (iterations + 1) * measured
  );
}
