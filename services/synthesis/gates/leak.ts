/** leak: the answer stands elsewhere in the tree, or a statement tells more than its level may. */
import type { StatementLevel } from "../../../core/task.ts";
import { answersElsewhere, findLeaks } from "../leaks.ts";
import { writeStatement } from "../statement.ts";
import { Refused, type Trial } from "./trial.ts";

const LEVELS: readonly StatementLevel[] = [0, 1, 2, 3];

export function leakOfTree({ candidate: { base, gold, parts }, environment: { root } }: Trial): void {
  const answers = answersElsewhere(root, parts ?? [base], gold);
  if (answers.length > 0)
    throw new Refused("leak", `the lines before the change stand in ${answers.join(", ")} too`);
}

export function leakOfStatements(trial: Trial): void {
  for (const level of LEVELS) {
    const leaks = findLeaks(trial.task, writeStatement(trial.task, level), trial.environment.root);
    if (leaks.length > 0) throw new Refused("leak", `level ${level} tells ${leaks.join("; ")}`);
  }
  trial.pass("leak", "the answer stands nowhere else in the tree, and no level tells more than it may");
}
