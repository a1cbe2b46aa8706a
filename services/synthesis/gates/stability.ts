/** stability: repeats agree, on the base tree and on the solved one; so many that a flake rate is excluded, where one is asked for. */
import type { FileChange, StatusMap } from "../../../core/task.ts";
import { flakeBound } from "../../environments/index.ts";
import { Refused, type Trial } from "./trial.ts";

/** Runs that must agree to exclude the rate at 95 %: the least k of which `flakeBound(k)` is not above it. */
export function runsAgainst(rate: number): number {
  let runs = 1;
  while (flakeBound(runs) > rate) runs++;
  return runs;
}

/** The first run and the no-op verdict are runs of the base tree; the run of gold, its verdict and the environment's baseline, of the solved one. */
export async function stability(trial: Trial): Promise<void> {
  const { environment, options, task, baseRuns, solvedRuns, judgesItself } = trial;
  const rate = options.gates?.maxFlakeRate ?? null;
  const wanted = Math.max(options.stabilityRuns, rate === null ? 0 : runsAgainst(rate));
  await repeat(trial, baseRuns, wanted, task.base, "differs between runs");
  if (rate === null && !judgesItself) {
    trial.pass("stability", `${baseRuns.length} runs of the base tree agree`);
    return;
  }
  // The baseline is what several runs agreed on.
  const more = judgesItself ? 0 : environment.baselineRuns - 1;
  if (!judgesItself) solvedRuns.unshift(environment.baseline);
  await repeat(trial, solvedRuns, wanted - more, trial.solved, "differs between runs of the solved tree");
  const runs = Math.min(baseRuns.length, solvedRuns.length + more);
  trial.pass(
    "stability",
    `${runs} runs of the base tree and of the solved tree agree: a flake rate above ${flakeBound(runs).toFixed(3)} is excluded at 95 %`,
  );
}

/** Runs the tree until so many runs agree; the first that does not ends it. */
async function repeat(
  trial: Trial,
  runs: StatusMap[],
  wanted: number,
  tree: readonly FileChange[],
  reason: string,
): Promise<void> {
  const { failToPass, passToPass } = trial.task;
  const names = [...failToPass, ...passToPass];
  for (;;) {
    const differs = names.find((name) =>
      runs.some((statuses) => (statuses[name] === "passed") !== (runs[0]![name] === "passed")),
    );
    if (differs !== undefined) throw new Refused("stability", `${reason}: ${differs}`);
    if (runs.length >= wanted) return;
    runs.push((await trial.run(tree)).report.statuses);
  }
}
