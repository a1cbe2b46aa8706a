/** From a delivery and the author's tree to a candidate, or to what the author has to put right first. */
import { lstatSync } from "node:fs";
import { join } from "node:path";
import type { FileChange, TaskOrigin, TaskType } from "../../core/task.ts";
import type { PreparedEnvironment } from "../environments/types.ts";
import type { Brief, Candidate } from "../synthesis/types.ts";
import { type Delivery, typeCheckOf } from "./delivery.ts";
import { collisionOf, problemsOfPaths } from "./test-paths.ts";
import { wayBack } from "./tree.ts";
import type { AuthorParts, Target } from "./types.ts";

/** What a migration may change beside sources: the lists of dependencies. */
const MANIFESTS = new Set(["package.json", "pyproject.toml", "setup.cfg", "requirements.txt", "go.mod"]);

/** Of a change: more is no task, but a build or a copy that was left behind. */
const MAX_FILES = 100;
const MAX_CHARACTERS = 1_000_000;

export interface Assignment {
  readonly environment: PreparedEnvironment;
  readonly brief: Brief;
  readonly mode: TaskType;
  /** Names what kind of behaviour was asked for: caps count by it. */
  readonly operator: string;
  readonly author: NonNullable<TaskOrigin["author"]>;
}

type Made = { readonly candidate: Candidate } | { readonly problems: readonly string[] };

/** `changes`: of the snapshot, as the tree stands. */
export function candidateOf(
  parts: Pick<AuthorParts, "mayChange" | "touched">,
  assignment: Assignment,
  delivery: Delivery,
  changes: readonly FileChange[],
): Made {
  const { environment, brief, mode, operator, author } = assignment;
  const tooMuch = problemOfSize(changes);
  if (tooMuch !== null) return { problems: [tooMuch] };
  const { title, body, contract } = delivery;
  const ofTests = new Set(delivery.tests.map(({ path }) => path));
  const change = changes.filter(({ path }) => !ofTests.has(path));
  const check = typeCheckOf(delivery.check);
  const { changed, added } = parts.touched(environment, change);
  const problems = [
    ...problemsOfTree(environment, mode, change),
    ...problemsOfTests(environment, mode, delivery, change),
    ...problemsOfWorkload(environment, delivery, change),
    ...problemsOfCheck(mode, check?.type),
    ...changed
      .filter(({ key }) => !parts.mayChange(key, brief))
      .map(
        (target) => `${nameOf(target)} is changed, and is one of the functions that must stay as they are`,
      ),
  ];
  if (problems.length > 0) return { problems };
  const sites = [...changed, ...added];
  const isPutIn = mode === "bug" && !delivery.solved;
  return {
    candidate: {
      type: mode,
      generator: "llm",
      base: isPutIn ? change : [],
      gold: isPutIn ? wayBack(environment.root, change) : change,
      sites: sites.map(({ file, functionName, line }) => ({ file, functionName, line, operator })),
      functions: [...new Set(sites.map(({ key }) => key))],
      ...(delivery.tests.length > 0 && { tests: delivery.tests.map(writeOf) }),
      ...(check && { check }),
      text: { title, body, contract },
      origin: { author },
    },
  };
}

function problemOfSize(changes: readonly FileChange[]): string | null {
  const expected = "leave in the tree what belongs to the task alone, and deliver again";
  if (changes.length > MAX_FILES)
    return `the tree differs in ${changes.length} files, where at most ${MAX_FILES} may: ${expected}`;
  const characters = changes.reduce((sum, one) => sum + (one.kind === "write" ? one.content.length : 0), 0);
  return characters > MAX_CHARACTERS
    ? `the changed files hold ${characters} characters, where at most ${MAX_CHARACTERS} may: ${expected}`
    : null;
}

const nameOf = ({ file, functionName }: Target): string => `${functionName} in ${file}`;

const writeOf = ({ path, content }: { path: string; content: string }): FileChange => ({
  kind: "write",
  path,
  content,
  encoding: "utf8",
});

function problemsOfTree(
  { root, entry }: PreparedEnvironment,
  mode: TaskType,
  change: readonly FileChange[],
): string[] {
  if (change.length === 0)
    return [
      "the repository's sources are as they were: make the change in the tree, and leave it there, before you deliver",
    ];
  const isTest = (path: string) => entry.tests.some((test) => path === test || path.startsWith(`${test}/`));
  const endings = new Set(entry.sources.map(endingOf));
  return change.flatMap((one) => {
    const { path } = one;
    if (isTest(path))
      return [`${path} is a test of the repository and was changed: put it back, or deliver it among tests`];
    if (one.kind === "symlink") return [`${path} is a symbolic link: files alone are delivered`];
    if (one.kind === "write" && (one.encoding !== "utf8" || one.content.includes("\0")))
      return [`${path} is no text`];
    if (entry.sources.includes(path) || (mode === "migration" && MANIFESTS.has(path))) return [];
    const isNew = lstatSync(join(root, path), { throwIfNoEntry: false }) === undefined;
    if (isNew && endings.has(endingOf(path))) return [];
    return [`${path} is no source of the package: remove it or put it back as it was`];
  });
}

const endingOf = (path: string): string => path.slice(path.lastIndexOf(".") + 1);

function problemsOfTests(
  environment: PreparedEnvironment,
  mode: TaskType,
  { tests, solved }: Delivery,
  change: readonly FileChange[],
): string[] {
  const paths = [...new Set(tests.map(({ path }) => path))];
  const problems = problemsOfPaths(environment, change, paths);
  if (paths.length < tests.length) problems.push("tests: a path stands twice");
  if (tests.length === 0 && (mode === "feature" || solved))
    problems.push("tests: at least one is expected, for the behaviour that was not there");
  if (solved && mode !== "bug") problems.push(`solved: it is for bugs, and this is a ${mode} task`);
  return problems;
}

/** A workload in the place of another file would judge that file's absence. */
function problemsOfWorkload(
  environment: PreparedEnvironment,
  { tests, check }: Delivery,
  change: readonly FileChange[],
): string[] {
  if (check?.type !== "performance") return [];
  const { path } = check.workload;
  if (environment.entry.sources.includes(path)) return [`check.workload: ${path} is a source, no workload`];
  const others = tests.map((test) => test.path);
  const collision = others.includes(path)
    ? `${path} is among tests`
    : collisionOf(path, environment, change, others);
  return collision === null ? [] : [`check.workload: ${collision}`];
}

const CHECKED: ReadonlySet<TaskType> = new Set(["refactor", "migration", "performance"]);

function problemsOfCheck(mode: TaskType, given: TaskType | undefined): string[] {
  if (CHECKED.has(mode) && given !== mode) return [`check: one of type ${mode} is expected`];
  return !CHECKED.has(mode) && given !== undefined ? [`check: none is expected for a ${mode} task`] : [];
}
