/** fail-to-pass: the base tree breaks a test, and each change of a combination does so alone. Here the candidate becomes a task. */
import { taskId } from "../changes.ts";
import { filesOf, splitTests } from "./split.ts";
import { Refused, several, type Trial } from "./trial.ts";

export async function failToPass(trial: Trial): Promise<void> {
  const { candidate, environment } = trial;
  const split = splitTests(environment.baseline, trial.baseRuns[0]!, environment.unstable);
  if (split.failToPass.length === 0) throw new Refused("fail-to-pass", "every test still passes");
  await eachPartBreaks(trial);
  trial.pass(
    "fail-to-pass",
    `${several(split.failToPass.length, "test")} to fix, ${several(split.passToPass.length, "test")} to keep`,
  );
  const { type, generator, base, gold, functions, sites, text, origin } = candidate;
  const task = {
    ...{ environment: environment.key, type, generator, base, gold },
    hiddenFiles: filesOf(environment.entry.tests, split.failToPass),
    ...split,
    functions,
    facts: { sites, reproduction: null, ...(text && { text }), ...(origin && { origin }) },
  };
  trial.task = { id: taskId(task), ...task };
}

async function eachPartBreaks(trial: Trial): Promise<void> {
  const { baseline, unstable } = trial.environment;
  for (const [i, part] of (trial.candidate.parts ?? []).entries()) {
    const alone = await trial.run(part);
    if (splitTests(baseline, alone.report.statuses, unstable).failToPass.length === 0)
      throw new Refused("fail-to-pass", `every test still passes with change ${i + 1} alone`);
  }
}
