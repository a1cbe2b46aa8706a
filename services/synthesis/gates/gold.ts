/** gold: the reference solution solves the task, by the grader's own rule. */
import { Refused, several, type Trial } from "./trial.ts";

export async function gold(trial: Trial): Promise<void> {
  const { task } = trial;
  const verdict = await trial.grade(task, task.gold);
  if (verdict.outcome !== "passed")
    throw new Refused("gold", `fails by ${verdict.rule}: ${verdict.offending.slice(0, 3).join("; ")}`);
  trial.pass(
    "gold",
    `restores the snapshot and passes ${several(task.failToPass.length + task.passToPass.length, "test")}`,
  );
}
