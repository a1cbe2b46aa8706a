/** determined: what the tests need is said by the contract or shown by the tree; the task remembers from which level on. */
import { determined as judge } from "../determined.ts";
import { Refused, type Trial } from "./trial.ts";

export function determined(trial: Trial): void {
  if (trial.options.gates?.determined !== true) return;
  const { passed, evidence, neededLevel } = judge(trial.task, trial.environment.root);
  if (!passed) throw new Refused("determined", evidence);
  if (neededLevel > 0) trial.task = { ...trial.task, facts: { ...trial.task.facts, neededLevel } };
  trial.pass("determined", evidence);
}
