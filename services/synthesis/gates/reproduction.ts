/** reproduction: a command that prints one thing before and another after the solution. */
import { Refused, type Trial } from "./trial.ts";

export async function reproduction(trial: Trial): Promise<void> {
  const whyNot = unneeded(trial);
  if (whyNot !== undefined) {
    trial.pass("reproduction", whyNot);
    return;
  }
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
  if ("none" in found) {
    // How other frameworks' tests call the package is seen less well, or not at all: there a reproduction is a help, no condition.
    if (environment.entry.framework === "tape") throw new Refused("reproduction", found.none);
    trial.pass("reproduction", `none: ${found.none}`);
    return;
  }
  trial.pass("reproduction", found.reproduction.command);
  trial.task = { ...task, facts: { ...task.facts, reproduction: found.reproduction } };
}

/** Calls are recorded from tests that the environment has. */
function unneeded({ candidate, judgesItself }: Trial): string | undefined {
  if (candidate.text !== undefined) return "none: the task has a text of its own";
  return judgesItself ? "none: the tests are the candidate's own" : undefined;
}
