/** stability: repeats of the base tree agree. The solved tree's are the environment's own baseline. */
import { Refused, type Trial } from "./trial.ts";

/** The first run and the no-op verdict are runs of the same tree. */
export async function stability(trial: Trial): Promise<void> {
  const { task, baseRuns } = trial;
  while (baseRuns.length < trial.options.stabilityRuns)
    baseRuns.push((await trial.run(task.base)).report.statuses);
  const differs = [...task.failToPass, ...task.passToPass].find((name) =>
    baseRuns.some((statuses) => (statuses[name] === "passed") !== (baseRuns[0]![name] === "passed")),
  );
  if (differs !== undefined) throw new Refused("stability", `differs between runs: ${differs}`);
  trial.pass("stability", `${baseRuns.length} runs of the base tree agree`);
}
