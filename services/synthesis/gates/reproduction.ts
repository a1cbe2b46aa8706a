/** reproduction: a command that prints one thing before and another after the solution. */
import { Refused, type Trial } from "./trial.ts";

export async function reproduction(trial: Trial): Promise<void> {
  const { environment, candidate, task } = trial;
  const { failToPass, hiddenFiles } = task;
  const { signal } = trial.options;
  const found = await trial.parts.reproducer.find({
    environment,
    candidate,
    failToPass,
    hiddenFiles,
    signal,
  });
  if ("none" in found) throw new Refused("reproduction", found.none);
  trial.pass("reproduction", found.reproduction.command);
  trial.task = { ...task, facts: { ...task.facts, reproduction: found.reproduction } };
}
