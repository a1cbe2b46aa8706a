/** type: what a refactoring, a migration or a speed-up must show beside its tests, and no mutation in disguise. */
import type { GeneratorName, StructuralAssertion, TypeCheck } from "../../../core/task.ts";
import { normalisedTokens } from "../../languages/index.ts";
import { baseText } from "../base-tree.ts";
import { textsOf } from "../changes.ts";
import { CHECK_SCOPE, importNames, speedNames, structureName } from "../checks/names.ts";
import { Refused, several, type Trial } from "./trial.ts";

/** Tokens that a feature must bring, at least, beside new tests: an operator, a constant or a guard put right is a bug fix. */
const FEATURE_TOKENS = 12;
/** By what they are: a body that was never written, and what is no code at all and says so by its generator. */
const UNMEASURED: readonly GeneratorName[] = ["removal", "exercise"];

export function type(trial: Trial): void {
  const { candidate } = trial;
  const { check } = candidate;
  if (check !== undefined && check.type !== candidate.type)
    throw new Refused("type", `a ${candidate.type} has a check of type ${check.type}`);
  if (candidate.type === "feature") feature(trial);
  else if (candidate.type !== "bug") {
    if (check === undefined)
      throw new Refused("type", `a ${candidate.type} needs a check: its tests alone do not show it`);
    checked(trial, check);
  }
}

function feature(trial: Trial): void {
  const { candidate, environment, task } = trial;
  if (UNMEASURED.includes(candidate.generator)) return;
  const fresh = task.failToPass.filter((name) => !Object.hasOwn(environment.baseline, name));
  // The environment's tests may be younger than a commit, and hold those that it brought.
  if (fresh.length === 0 && candidate.origin?.commit === undefined)
    throw new Refused("type", "no new test: what the package's own tests ask for is a bug fix");
  const before = baseText(trial.environment.root, trial.candidate.base);
  const added = [...textsOf(candidate.gold)].reduce(
    (sum, [path, text]) => sum + newTokens(path, before(path), text),
    0,
  );
  if (added < FEATURE_TOKENS)
    throw new Refused(
      "type",
      `${added} tokens of new code: that is a bug fix (a feature brings new tests and at least ${FEATURE_TOKENS} tokens)`,
    );
  trial.pass(
    "type",
    `${several(fresh.length, "test")} to fix that the environment does not have, ${added} tokens of code that the base tree lacks`,
  );
}

/** How many tokens of each kind the text has more than before, in all: what only moves counts for nothing. */
function newTokens(path: string, before: string, now: string): number {
  const known = new Map<string, number>();
  for (const token of normalisedTokens(path, before)) known.set(token, (known.get(token) ?? 0) + 1);
  let added = 0;
  for (const token of normalisedTokens(path, now)) {
    const left = known.get(token) ?? 0;
    if (left === 0) added++;
    else known.set(token, left - 1);
  }
  return added;
}

function checked(trial: Trial, check: TypeCheck): void {
  const { environment, task, baseRuns } = trial;
  const known = Object.keys(environment.baseline).filter(
    (name) => environment.baseline[name] === "passed" && !environment.unstable.includes(name),
  );
  const failing = trial.candidate.origin?.commit
    ? []
    : known.filter((name) => task.failToPass.includes(name) || baseRuns[0]![name] === "failed");
  if (failing.length > 0)
    throw new Refused("type", `the base tree fails ${failing[0]}: that is a bug, not a ${check.type}`);
  const own = (name: string) => name.startsWith(`${CHECK_SCOPE} > `);
  const others = task.failToPass.filter((name) => !own(name));
  if (others.length > 0 && check.type !== "migration")
    throw new Refused("type", `a ${check.type} keeps the behaviour, but ${others[0]} fails without it`);
  for (const wanted of wantedOf(check))
    if (!task.failToPass.some((name) => own(name) && name.includes(`> ${wanted}#`)))
      throw new Refused("type", `"${wanted}" does not tell the base tree from the solved one`);
  const measured = trial.notes.join("\n").match(/speedup [^\n]*/)?.[0];
  trial.pass("type", [...wantedOf(check), ...(measured ? [measured] : [])].join("; "));
}

/** Names that must fail on the base tree and pass with gold. */
function wantedOf(check: TypeCheck): readonly string[] {
  switch (check.type) {
    case "performance":
      return [speedNames(check.minSpeedup).fast];
    case "refactor":
      return check.structure.map((assertion: StructuralAssertion) => structureName(assertion));
    case "migration":
      // What it moves to may have been there before; that it is imported with gold is said by the gate `gold`.
      return check.absent.length > 0
        ? check.absent.map(importNames.absent)
        : check.present.map(importNames.present);
  }
}
