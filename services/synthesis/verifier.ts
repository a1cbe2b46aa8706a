/** The verifier of a candidate that brings its own tests or a check: its files, and commands that run them beside the environment's tests. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { composeChanges } from "../../core/changes.ts";
import type { FileChange, TestCommand, Verifier } from "../../core/task.ts";
import { commandsOfEntry } from "../environments/index.ts";
import type { PreparedEnvironment } from "../environments/types.ts";
import { isCode } from "../languages/index.ts";
import { textsOf } from "./changes.ts";
import { type CheckParts, checkOf } from "./checks/index.ts";
import type { Candidate } from "./types.ts";

/** Wall seconds of a verifier's run; a check that measures gets as much again. */
const RUN_SECONDS = 120;
/** The environment's own tests may take this part of it at most; beyond, the limit grows by its own factor. */
const BASELINE_SHARE = 20;
const STEP = 4;

/** Undefined = the environment's own tests judge. `none`: why the candidate cannot be judged. */
export function verifierOf(
  environment: PreparedEnvironment,
  candidate: Candidate,
): Verifier | { readonly none: string } | undefined {
  const { tests = [], check } = candidate;
  if (tests.length === 0 && check === undefined) return undefined;
  const checked = check === undefined ? undefined : checkOf(environment, candidate, check);
  if (checked !== undefined && "none" in checked) return checked;
  return {
    files: [...composeChanges([], tests), ...(checked?.files ?? [])],
    // Before the tests, which run what is judged: nothing has touched the check's files yet.
    commands: [...(checked === undefined ? [] : [checked.command]), ...testCommands(environment, candidate)],
    exact: null,
    timeoutSeconds: secondsFor(environment, checked),
  };
}

/** In steps, so that two machines' baselines give one task the same limit. */
function secondsFor(
  { cpuSeconds }: Pick<PreparedEnvironment, "cpuSeconds">,
  check: CheckParts | undefined,
): number {
  let seconds = RUN_SECONDS;
  while (seconds < BASELINE_SHARE * cpuSeconds) seconds *= STEP;
  return check === undefined ? seconds : 2 * seconds;
}

/** The environment's commands over the test files that the judged tree has: without those that the base lacks, with new ones. */
function testCommands(environment: PreparedEnvironment, candidate: Candidate): readonly TestCommand[] {
  const { entry, root } = environment;
  const { base, tests = [] } = candidate;
  const judged = composeChanges(base, tests);
  const has = (path: string): boolean => {
    const change = judged.find((one) => one.path === path);
    if (change !== undefined) return change.kind !== "delete";
    return judged.some((one) => one.path.startsWith(`${path}/`)) || existsSync(join(root, path));
  };
  const known = entry.tests.filter(has);
  const listed = (path: string) => known.some((test) => path === test || path.startsWith(`${test}/`));
  const added = testFiles(entry.framework, tests).filter((path) => !listed(path));
  if (added.length === 0 && known.length === entry.tests.length) return environment.commands;
  return commandsOfEntry({ ...entry, tests: [...known, ...added] }, has);
}

/** With tape each file is a program of its own, and what does not load tape is no test but something that tests load. */
function testFiles(framework: string, tests: readonly FileChange[]): string[] {
  return [...textsOf(tests)]
    .filter(([path, text]) => isCode(path) && (framework !== "tape" || /["']tape["']/.test(text)))
    .map(([path]) => path);
}
