/** no-op: doing nothing must not solve the task, by the grader's own rule. */
import { Refused, type Trial } from "./trial.ts";

export async function noOp(trial: Trial): Promise<void> {
  const verdict = await trial.grade(trial.task, []);
  if (verdict.outcome !== "failed") throw new Refused("no-op", "doing nothing passes");
  trial.pass("no-op", `doing nothing fails by ${verdict.rule}`);
  trial.baseRuns.push(verdict.statuses);
}
