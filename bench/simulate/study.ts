/** What is simulated: the schedulers on one trace, and one of them on ever more engines. */
import { type Outcome, runOneStep, runPaced } from "./schedulers.ts";
import type { NodeSettings } from "./settings.ts";

export interface Row extends Omit<Outcome, "updates"> {
  readonly name: string;
}

export interface Comparison extends Row {
  readonly updates: Outcome["updates"];
}

export interface Grown extends Row {
  readonly engines: number;
}

export interface Study {
  readonly settings: NodeSettings;
  readonly schedulers: readonly Comparison[];
  /** With trainer and trajectories in proportion to the engines; then with the batch in proportion, too. */
  readonly sameBatch: readonly Grown[];
  readonly largerBatch: readonly Grown[];
}

export const ENGINES = [6, 16, 32, 64];
/** Of the runs on more engines: a node ten times as large has ten times as much to simulate. */
const GROWN_UPDATES = 6;

export const SCHEDULERS: readonly { readonly name: string; run(settings: NodeSettings): Outcome }[] = [
  { name: "lag 0", run: (settings) => runPaced(settings, paced(0, "finish")) },
  { name: "one-step-async", run: runOneStep },
  { name: "lag 1", run: (settings) => runPaced(settings, paced(1, "finish")) },
  { name: "lag 1, in flight", run: (settings) => runPaced(settings, paced(1, "continue")) },
  { name: "lag 3", run: (settings) => runPaced(settings, paced(3, "finish")) },
  { name: "lag 3, in flight", run: (settings) => runPaced(settings, paced(3, "continue")) },
];

const paced = (maxLag: number, onPublish: "finish" | "continue") =>
  ({ maxLag, onPublish, stale: "refresh" }) as const;

export function compareSchedulers(settings: NodeSettings): Comparison[] {
  return SCHEDULERS.map(({ name, run }) => ({ name, ...run(settings) }));
}

function grow(settings: NodeSettings, counts: readonly number[], withBatch: boolean): Grown[] {
  return counts.map((count) => {
    const factor = count / settings.engines.count;
    const { updates: _, ...outcome } = runPaced(
      {
        ...settings,
        updates: Math.min(settings.updates, GROWN_UPDATES),
        batch: withBatch ? Math.round(settings.batch * factor) : settings.batch,
        trajectories: Math.round(settings.trajectories * factor),
        engines: { ...settings.engines, count },
        trainer: { ...settings.trainer, tokensPerSecond: settings.trainer.tokensPerSecond * factor },
      },
      paced(3, "continue"),
    );
    return { name: `${count} engines`, engines: count, ...outcome };
  });
}

export function study(settings: NodeSettings, counts: readonly number[] = ENGINES): Study {
  return {
    settings,
    schedulers: compareSchedulers(settings),
    sameBatch: grow(settings, counts, false),
    largerBatch: grow(settings, counts, true),
  };
}
