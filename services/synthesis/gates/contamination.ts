/** contamination: a task shares no 13 words in a row with a benchmark that it is measured on. */
import { baseText } from "../base-tree.ts";
import { contaminated, ownTexts } from "../contamination.ts";
import { hiddenTests } from "../determined.ts";
import { writeStatement } from "../statement.ts";
import { Refused, type Trial } from "./trial.ts";

type Texts = Parameters<typeof contaminated>[0];

/** What it brings, before anything runs. */
export function contamination(trial: Trial): void {
  const { candidate, environment } = trial;
  look(trial, ownTexts(candidate, baseText(environment.root, candidate.base)));
}

/** What it came to: its most specific statement, and the environment's own tests that it hides. */
export function contaminationOfTask(trial: Trial): void {
  const { task, environment } = trial;
  const tests = [...hiddenTests(environment.root, task).values()];
  const statement = { part: "the statement", text: writeStatement(task, 3).text };
  const evidence = look(trial, [statement, ...tests.map((text) => ({ part: "a hidden test", text }))]);
  if (evidence !== null) trial.pass("contamination", evidence);
}

function look(trial: Trial, texts: Texts): string | null {
  const { benchmarks = [] } = trial.options;
  if (benchmarks.length === 0) return null;
  const { passed, evidence } = contaminated(texts, benchmarks);
  if (!passed) throw new Refused("contamination", evidence);
  return evidence;
}
