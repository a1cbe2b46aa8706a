/** fail-to-pass: the base tree breaks a test that the solved one passes, and each change of a combination does so alone. Here the candidate becomes a task. */
import type { StatusMap } from "../../../core/task.ts";
import { taskId } from "../changes.ts";
import { filesHolding } from "../test-files.ts";
import { brokenBy, filesOf, type SplitTests, splitTests } from "./split.ts";
import { Refused, several, type Trial } from "./trial.ts";

export async function failToPass(trial: Trial): Promise<void> {
  const { unstable } = trial.environment;
  const solved = trial.judgesItself ? await solvedRun(trial) : trial.environment.baseline;
  const split = splitTests(solved, trial.baseRuns[0]!, unstable);
  if (split.failToPass.length === 0) refuseUnbroken(trial);
  await eachPartBreaks(trial);
  trial.pass(
    "fail-to-pass",
    `${several(split.failToPass.length, "test")} to fix, ${several(split.passToPass.length, "test")} to keep`,
  );
  trial.task = taskOf(trial, split);
}

async function solvedRun(trial: Trial): Promise<StatusMap> {
  const run = await trial.run(trial.solved);
  if (!run.ended)
    throw new Refused(
      "gold",
      `with gold the tests do not end: stopped by the limit of ${run.stoppedBy ?? "time"}`,
    );
  trial.solvedRuns.push(run.report.statuses);
  trial.notes.push(run.log);
  return run.report.statuses;
}

/** A gold that fails its own tests leaves nothing to fix, too: that is what its author must hear. */
function refuseUnbroken(trial: Trial): never {
  const broken = trial.judgesItself ? brokenTests(trial) : [];
  if (broken.length > 0) throw failingWithGold(trial, broken);
  throw new Refused("fail-to-pass", "every test still passes");
}

/** Names of the tests, each with what a check said of it. */
export function failingWithGold(trial: Trial, broken: readonly string[]): Refused {
  const said = new Map(
    [...trial.notes.join("\n").matchAll(/^not ok \d+ (.*)\n {2}(.+)$/gm)].map(([, name, note]) => [
      name!,
      note!,
    ]),
  );
  const told = broken.slice(0, 3).map((name) => {
    const note = [...said].find(([test]) => name.includes(`> ${test}#`))?.[1];
    return note === undefined ? name : `${name} (${note})`;
  });
  return new Refused("gold", `with gold these fail: ${told.join("; ")}`);
}

/** The tests of a commit's own time may be younger than it: only what its parent passes must go on passing. */
export function brokenTests({ environment, candidate, baseRuns, solvedRuns }: Trial): string[] {
  const { unstable } = environment;
  const runs = { unstable, base: baseRuns[0]!, solved: solvedRuns[0]! };
  if (candidate.origin?.commit === undefined) return brokenBy({ ...runs, baseline: environment.baseline });
  const known = new Set(Object.keys(environment.baseline));
  return brokenBy({ ...runs, baseline: {} }).filter(
    (name) => !known.has(name) || baseRuns[0]![name] === "passed",
  );
}

async function eachPartBreaks(trial: Trial): Promise<void> {
  const { baseline, unstable } = trial.environment;
  for (const [i, part] of (trial.candidate.parts ?? []).entries()) {
    const alone = await trial.run(part);
    if (splitTests(baseline, alone.report.statuses, unstable).failToPass.length === 0)
      throw new Refused("fail-to-pass", `every test still passes with change ${i + 1} alone`);
  }
}

function taskOf(trial: Trial, split: SplitTests) {
  const { candidate, environment, verifier } = trial;
  const { type, generator, base, gold, functions, sites, text, origin, check, tests = [] } = candidate;
  // A test that is replaced where it judges stays as it is where the agent works.
  const replaced = new Set(tests.map(({ path }) => path));
  // What the candidate's own tests judge, the environment's show only where a name says so.
  const hidden = trial.judgesItself
    ? filesOf(environment.entry.tests, split.failToPass)
    : filesHolding(environment, split.failToPass);
  const task = {
    ...{ environment: environment.key, type, generator, base, gold },
    hiddenFiles: hidden.filter((file) => !replaced.has(file)),
    ...split,
    functions,
    facts: {
      ...{ sites, reproduction: null },
      ...(text && { text }),
      ...(check && { check }),
      ...(origin && { origin }),
    },
    ...(verifier !== undefined && !("none" in verifier) && { verifier }),
  };
  return { id: taskId(task), ...task };
}
