/** Leak checks: what a statement must not say at its level, and copies of the answer that a tree must not hold. */
import { basename } from "node:path";
import type { FileChange, Statement, Task } from "../../core/task.ts";
import { baseText, baseTexts, filesOf } from "./base-tree.ts";
import { textsOf } from "./changes.ts";
import { pastedFrom } from "./pasted.ts";
import { packageOf } from "./statement.ts";

/** Shorter lines (`}`, `return;`, `i++;`) are in everything and give nothing away. */
const TELLING_CHARACTERS = 12;

/** Assertion names that tape gives where the author gave none: they say nothing about a test. */
const DEFAULT_NAMES =
  /^(\(anonymous\)|\(unnamed assert\)|should (not )?be .*|should (not )?match .*|should (not )?throw|null|\.?end\(\).*|plan != count|test (timed out|exited).*)$/;

/** A change log may well say what an issue says. */
const PROSE = /\.(md|markdown|rst|txt|adoc)$/i;

function squeeze(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** Lines of the solved tree that the base tree's files lack: the text of the answer. `before` reads the base tree. */
export function goldLines(before: (path: string) => string, gold: readonly FileChange[]): string[] {
  const lines = new Set<string>();
  for (const [path, text] of textsOf(gold)) {
    if (PROSE.test(path)) continue;
    const known = new Set(before(path).split("\n").map(squeeze));
    for (const line of text.split("\n").map(squeeze))
      if (line.length >= TELLING_CHARACTERS && !known.has(line)) lines.add(line);
  }
  return [...lines];
}

/** Test names and assertion names inside hidden test names that somebody wrote. */
function writtenNames(names: readonly string[]): string[] {
  const written = new Set<string>();
  for (const name of names)
    for (const part of name.split(" > ").slice(1)) {
      const text = squeeze(part.replace(/#\d+$/, ""));
      if (text.length >= TELLING_CHARACTERS && !DEFAULT_NAMES.test(text)) written.add(text);
    }
  return [...written];
}

function mentions(text: string, word: string): boolean {
  const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`(^|[^\\w./-])${escaped}($|[^\\w/-])`).test(text);
}

/** What runs of hexadecimal and base64 digits say; runs shorter than a telling line in base64 are words. */
function encodedIn(text: string): string[] {
  const decoded = (pattern: RegExp, encoding: "hex" | "base64"): string[] =>
    (text.match(pattern) ?? []).map((run) => Buffer.from(run, encoding).toString("utf8"));
  return [
    ...decoded(/(?<![\da-f])(?:[\da-f]{2}){12,}/gi, "hex"),
    ...decoded(/[A-Za-z\d+/_-]{24,}={0,2}/g, "base64"),
  ];
}

/** What the statement gives away beyond its level; one phrase each. Empty = no leak. `root` is the environment's snapshot. */
export function findLeaks(task: Task, statement: Statement, root: string): readonly string[] {
  const before = baseText(root, task.base);
  const text = squeeze(statement.text);
  const said = [statement.text, ...encodedIn(statement.text)].join("\n");
  const folded = squeeze(said).toLowerCase();
  const leaks: string[] = [];
  for (const line of goldLines(before, task.gold))
    if (folded.includes(line.toLowerCase())) leaks.push(`a line of the gold change: ${line}`);
  leaks.push(...hiddenTests(task, text));
  leaks.push(...(task.facts.text === undefined ? templatePlaces : authoredPlaces)(task, statement));
  if (task.facts.text !== undefined && leaks.length === 0) {
    const old = baseTexts(root, task.base, [...textsOf(task.gold).keys()]);
    const pasted = pastedFrom(old, textsOf(task.gold), said);
    if (pasted !== null) leaks.push(`an expression of the gold change: ${pasted}`);
  }
  const { reproduction } = task.facts;
  if (statement.level < 1 && reproduction !== null)
    if ([reproduction.command, reproduction.code].some((code) => text.includes(squeeze(code))))
      leaks.push("the reproduction");
  return leaks;
}

function hiddenTests(task: Task, text: string): string[] {
  // A test file is often called like the source it tests, which may be named.
  const own = new Set(task.facts.sites.map((site) => basename(site.file)));
  const files = new Set([...task.hiddenFiles, ...(task.verifier?.files ?? []).map(({ path }) => path)]);
  return [
    ...[...files]
      .filter((file) => mentions(text, file) || (!own.has(basename(file)) && mentions(text, basename(file))))
      .map((file) => `a hidden test file: ${file}`),
    ...writtenNames(task.failToPass)
      .filter((name) => text.includes(name))
      .map((name) => `a hidden test's name: ${name}`),
  ];
}

function templatePlaces(task: Task, { text, level }: Statement): string[] {
  return task.facts.sites.flatMap(({ file, line, functionName }) => [
    ...(level < 3 && mentions(text, `${file}:${line}`) ? [`the place: ${file}:${line}`] : []),
    ...(level < 2 && text.includes(`\`${functionName}\``) ? [`the function: ${functionName}`] : []),
  ]);
}

/**
 * Whoever writes freely names a place in more ways than a template. What the hidden tests or the check of its type name is what its user
 * deals with, and no place: only functions and files behind that are.
 */
function authoredPlaces(task: Task, { text, level }: Statement): string[] {
  const dealtWith = [
    packageOf(task.environment),
    JSON.stringify(task.facts.check ?? null),
    ...textsOf(task.verifier?.files ?? []).values(),
  ];
  const known = new Set(dealtWith.join("\n").match(/[\w$-]+/g));
  return task.facts.sites.flatMap(({ file, line, functionName }) => {
    const leaks: string[] = [];
    const numbered = new RegExp(`\\bline ${line}\\b`, "i").test(text);
    if (level < 3 && (numbered || mentions(text, `${file}:${line}`)))
      leaks.push(`the place: ${file}:${line}`);
    else if (level < 3 && mentions(text, file) && !known.has(stemOf(file))) leaks.push(`the file: ${file}`);
    if (level < 2 && namesFunction(text, functionName) && !known.has(functionName))
      leaks.push(`the function: ${functionName}`);
    return leaks;
  });
}

const stemOf = (file: string): string => basename(file).replace(/\..*$/, "");

/** As code, not as the English word that it may be. */
function namesFunction(text: string, name: string): boolean {
  if (!/^[\w$]+$/.test(name)) return false;
  const escaped = name.replaceAll("$", "\\$");
  const written = new RegExp(`(^|[^\\w$])${escaped}(?![\\w$])`);
  if (/[a-z0-9][A-Z]|_/.test(name)) return written.test(text);
  return new RegExp(`\`${escaped}\`|(^|[^\\w$])${escaped}\\(|\\bfunction \`?${escaped}(?![\\w$])`).test(text);
}

/** A change's new lines with this many characters around them, white space aside, are no coincidence elsewhere. */
const WINDOW = 60;
const MAX_NEIGHBOURS = 6;

/** Without white space, and without what a source map adds by holding its source as a JSON string. */
function dense(text: string): string {
  return text.replace(/\\[nrt]|[\\\s]/g, "");
}

/** The lines of `solved` that differ from `base`, with neighbours on both sides, white space aside. */
export function windowOf(base: string, solved: string): string {
  const before = base.split("\n");
  const after = solved.split("\n");
  let start = 0;
  while (start < after.length && before[start] === after[start]) start++;
  let tail = 0;
  while (tail < after.length - start && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  for (let near = 0; ; near++) {
    const text = dense(after.slice(Math.max(0, start - near), after.length - tail + near).join("\n"));
    if ((near > 0 && text.length >= WINDOW) || near === MAX_NEIGHBOURS) return text;
  }
}

/** Code and source maps. Documentation may quote the source; a declaration file holds no code. */
const CODE = /(?<!\.d)\.((c|m)?(js|ts)x?(\.map)?|py|go)$/;

/**
 * Code files of the agent's tree that hold the answer to a change: its new lines with their neighbours stand in a file that the solution
 * leaves alone. Copies of whole sources are refused when an environment is prepared; this finds a copy of a part. `changes`: the base tree,
 * or each change of a combination alone.
 */
export function answersElsewhere(
  root: string,
  changes: readonly (readonly FileChange[])[],
  gold: readonly FileChange[],
): string[] {
  const solved = textsOf(gold);
  const windows = changes.flatMap((change) => {
    const before = baseText(root, change);
    return [...solved].flatMap(([path, text]) =>
      before(path) === text ? [] : [windowOf(before(path), text)],
    );
  });
  const isOther = (path: string): boolean => CODE.test(path) && !solved.has(path);
  const others = baseTexts(root, changes.flat(), filesOf(root).filter(isOther));
  return [...others].flatMap(([path, text]) => {
    const holds = windows.some((window) => window !== "" && dense(text).includes(window));
    return holds && isOther(path) ? [path] : [];
  });
}
