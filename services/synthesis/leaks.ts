/** Leak checks: what a statement must not say at its level, and copies of the answer that a tree must not hold. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { FileChange, Statement, Task } from "../../core/task.ts";
import { textsOf } from "./changes.ts";

/** Shorter lines (`}`, `return;`, `i++;`) are in everything and give nothing away. */
const TELLING_CHARACTERS = 12;

/** Assertion names that tape gives where the author gave none: they say nothing about a test. */
const DEFAULT_NAMES =
  /^(\(anonymous\)|\(unnamed assert\)|should (not )?be .*|should (not )?match .*|should (not )?throw|null|\.?end\(\).*|plan != count|test (timed out|exited).*)$/;

function squeeze(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** Lines of the solved tree that the base tree's files lack: the text of the answer. */
export function goldLines(base: readonly FileChange[], gold: readonly FileChange[]): string[] {
  const before = textsOf(base);
  const lines = new Set<string>();
  for (const [path, text] of textsOf(gold)) {
    const known = new Set((before.get(path) ?? "").split("\n").map(squeeze));
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

/** What the statement gives away beyond its level; one phrase each. Empty = no leak. */
export function findLeaks(task: Task, statement: Statement): readonly string[] {
  const text = squeeze(statement.text);
  const leaks: string[] = [];
  for (const line of goldLines(task.base, task.gold))
    if (text.includes(line)) leaks.push(`a line of the gold change: ${line}`);
  for (const file of task.hiddenFiles)
    if (mentions(text, file) || mentions(text, basename(file))) leaks.push(`a hidden test file: ${file}`);
  for (const name of writtenNames(task.failToPass))
    if (text.includes(name)) leaks.push(`a hidden test's name: ${name}`);
  for (const { file, line, functionName } of task.facts.sites) {
    if (statement.level < 3 && mentions(text, `${file}:${line}`)) leaks.push(`the place: ${file}:${line}`);
    if (statement.level < 2 && text.includes(`\`${functionName}\``))
      leaks.push(`the function: ${functionName}`);
  }
  if (statement.level < 1 && task.facts.reproduction !== null)
    if (text.includes(squeeze(task.facts.reproduction.command))) leaks.push("the reproduction");
  return leaks;
}

/** Code and source maps; a declaration file holds no code. */
const CODE = /(?<!\.d)\.(c|m)?(js|ts)x?(\.map)?$/;

function codeFiles(root: string, below = ""): string[] {
  return readdirSync(join(root, below), { withFileTypes: true }).flatMap((entry) => {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : codeFiles(root, path);
    return entry.isFile() && CODE.test(path) ? [path] : [];
  });
}

/** Words that survive a minifier: property names and the content of strings. */
function lastingWords(text: string): Set<string> {
  const words = new Set<string>();
  for (const match of text.matchAll(/\.([A-Za-z_$][\w$]{3,})|(["'])((?:(?!\2)[^\\\n]){4,}?)\2/g))
    words.add(match[1] ?? match[3]!);
  return words;
}

/** Fewer lasting words than this prove nothing. */
const ENOUGH_WORDS = 6;
const SHARED_WORDS = 0.9;
/** Share of a source's runs of text, white space aside, that make another file a copy. */
const SHARED_RUNS = 0.5;
const RUN = 48;

function dense(text: string): string {
  // Source maps hold the source as a JSON string.
  return text
    .replace(/\\[nrt]/g, "")
    .replace(/\\"/g, '"')
    .replace(/\s+/g, "");
}

/** Share of `source`'s consecutive runs of RUN characters found in `other`, white space aside. */
export function sharedRuns(source: string, other: string): number {
  const needle = dense(source);
  const haystack = dense(other);
  if (needle.length === 0) return 0;
  let runs = 0;
  let found = 0;
  for (let start = 0; start === 0 || start + RUN <= needle.length; start += RUN) {
    runs += 1;
    if (haystack.includes(needle.slice(start, start + RUN))) found += 1;
  }
  return found / runs;
}

/**
 * Code files of the tree, tests aside, that hold a copy of `file`: a bundle, a minified build, a source map. Such a copy
 * would give a mutation of `file` away. Documentation may quote the source; a copy in a module is the environment's matter.
 */
export function copiesOf(root: string, file: string, tests: readonly string[]): string[] {
  const source = readFileSync(join(root, file), "utf8");
  const words = [...lastingWords(source)];
  return codeFiles(root).filter((path) => {
    if (path === file || tests.includes(path)) return false;
    const other = readFileSync(join(root, path), "utf8");
    if (sharedRuns(source, other) >= SHARED_RUNS) return true;
    const there = lastingWords(other);
    const shared = words.filter((word) => there.has(word)).length;
    return words.length >= ENOUGH_WORDS && shared >= SHARED_WORDS * words.length;
  });
}
