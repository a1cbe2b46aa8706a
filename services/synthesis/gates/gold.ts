/** gold: the reference solution solves the task by the grader's own rule, and breaks no test that passed without it. */
import { brokenTests, failingWithGold } from "./fail-to-pass.ts";
import { Refused, several, type Trial } from "./trial.ts";

export async function gold(trial: Trial): Promise<void> {
  const { task } = trial;
  if (trial.judgesItself) {
    const broken = brokenTests(trial);
    if (broken.length > 0) throw failingWithGold(trial, broken);
  }
  const verdict = await trial.grade(task, task.gold);
  if (verdict.outcome !== "passed")
    throw new Refused("gold", `fails by ${verdict.rule}: ${verdict.offending.slice(0, 3).join("; ")}`);
  trial.solvedRuns.push(verdict.statuses);
  const passed = `passes ${several(task.failToPass.length + task.passToPass.length, "test")}`;
  trial.pass("gold", trial.judgesItself ? passed : `restores the snapshot and ${passed}`);
}
