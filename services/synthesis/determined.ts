/**
 * Whether a statement determines the tests: what they name and a solver must choose alike is said, or can be found in the agent's tree.
 *
 * Only what the solution introduces can be asked for and missing, so a name or a text counts when the tests *and* the solution have it and the
 * agent's tree has not. A value that the solved code computes is nobody's to say. What a sentence means is judged by nothing here: that a
 * contract is true, or complete where tests and solution share no new word, is for the probes to find out.
 */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { FileChange, StatementLevel, Task, TypeCheck } from "../../core/task.ts";
import { isCode } from "../languages/index.ts";
import { baseTexts, filesOf } from "./base-tree.ts";
import { textsOf } from "./changes.ts";
import { mentionsOf } from "./mentions.ts";
import { writeStatement } from "./statement.ts";

export interface Determination {
  readonly passed: boolean;
  readonly evidence: string;
  /** The least specific level that says all; 0 where the gate has nothing to say. */
  readonly neededLevel: StatementLevel;
}

/** Something that a statement has to say, and how one tells that it does. */
interface Need {
  readonly what: string;
  readonly said: (text: string) => boolean;
}

/** Shorter texts are in everything. */
const TELLING_TEXT = 4;
const BINARY = "\0";

/** Text files of the tree that the agent is given, by path. */
export function agentTree(root: string, task: Pick<Task, "base" | "hiddenFiles">): Map<string, string> {
  const files = baseTexts(root, task.base, filesOf(root));
  for (const path of task.hiddenFiles) files.delete(path);
  for (const [path, text] of files) if (text.includes(BINARY)) files.delete(path);
  return files;
}

/** Tests that the agent does not see: those that the task brings, and the environment's own that are hidden. */
export function hiddenTests(root: string, task: Pick<Task, "hiddenFiles" | "verifier">): Map<string, string> {
  const tests = new Map<string, string>();
  for (const path of task.hiddenFiles)
    try {
      tests.set(path, readFileSync(join(root, path), "utf8"));
    } catch (error) {
      // Of a task that brings it.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  for (const [path, text] of textsOf(task.verifier?.files ?? [])) tests.set(path, text);
  // A check of its type lies outside of the tree.
  return new Map([...tests].filter(([path]) => isCode(path) && !path.startsWith("/")));
}

const squeeze = (text: string): string => text.replace(/\s+/g, " ").trim();
const wordsOf = (text: string): string[] => text.match(/[\p{L}_$][\p{L}\p{N}_$]*/gu) ?? [];

function word(kind: string, name: string): Need {
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const pattern = new RegExp(`(^|[^\\w$])${escaped}($|[^\\w$])`);
  return { what: `${kind} ${name}`, said: (text) => pattern.test(text) };
}

function quoted(text: string): Need {
  const wanted = squeeze(text).toLowerCase();
  return {
    what: `the text ${JSON.stringify(text)}`,
    said: (statement) => squeeze(statement).toLowerCase().includes(wanted),
  };
}

function file(path: string): Need {
  const name = basename(path).replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  // A name alone may be an English word; with its ending it is a file's.
  const alone = new RegExp(`(^|[^\\w.-])${name}${/\.\w+$/.test(path) ? "" : "\\.\\w+"}`);
  const stem = path.replace(/\.\w+$/, "");
  return {
    what: `the file ${path}`,
    said: (text) => alone.test(text) || (stem.includes("/") && text.includes(stem)),
  };
}

/** What the check of its type asks for by name; the tree cannot tell that it is wanted. */
function checkNeeds(check: TypeCheck | undefined): Need[] {
  if (check === undefined || check.type === "performance") return [];
  if (check.type === "migration")
    return [...check.absent, ...check.present].map((name) => word("the module", name));
  return check.structure.flatMap((assertion) =>
    assertion.kind === "max-copies" ? [] : [word("the symbol", assertion.symbol.split(".").at(-1)!)],
  );
}

/** Names that the language brings: nobody's to say. */
const BUILT_IN: ReadonlySet<string> = new Set(
  Object.getOwnPropertyNames(globalThis).flatMap((name) => {
    const value: unknown = Reflect.get(globalThis, name);
    if (typeof value !== "function") return [name];
    const own: object[] = [value, value.prototype].filter(
      (each) => (each !== null && typeof each === "object") || typeof each === "function",
    );
    return [name, ...own.flatMap((each) => Object.getOwnPropertyNames(each))];
  }),
);

/** What a text of the solution and one of the tests have in common: the whole of one of them. */
function sharedText(own: string, other: string, isPattern: boolean): string | null {
  const [short, long] = own.length <= other.length ? [own, other] : [other, own];
  if (!/\p{L}{2}/u.test(short) || !long.toLowerCase().includes(short.toLowerCase())) return null;
  if (short.length === long.length) return short;
  // A word may stand in a longer text by chance.
  return short.length >= TELLING_TEXT && (isPattern || /[^\p{L}\p{N}]/u.test(short)) ? short : null;
}

/** What tests and solution share and the agent's tree lacks. */
export function testNeeds(
  tests: ReadonlyMap<string, string>,
  gold: readonly FileChange[],
  tree: ReadonlyMap<string, string>,
): Need[] {
  const seen = [...tree.values()].join("\n");
  const seenWords = new Set(wordsOf(seen));
  const seenText = squeeze(seen).toLowerCase();
  const tested = [...tests].map(([path, text]) => mentionsOf(path, text));
  const names = new Set(tested.flatMap((each) => [...each.names]));
  const texts = [
    ...tested.flatMap((each) => [...each.texts].map((text) => ({ text: text.trim(), isPattern: false }))),
    ...tested.flatMap((each) => [...each.patterns].map((text) => ({ text: text.trim(), isPattern: true }))),
  ];
  const needs = new Map<string, Need>();
  const need = (found: Need): void => void needs.set(found.what, found);
  for (const [path, text] of textsOf(gold)) {
    if (!isCode(path)) continue;
    for (const name of new Set(wordsOf(text)))
      if (names.has(name) && !seenWords.has(name) && !BUILT_IN.has(name)) need(word("the name", name));
    for (const own of mentionsOf(path, text).texts) {
      if (seenText.includes(squeeze(own).toLowerCase())) continue;
      for (const { text: other, isPattern } of texts) {
        const shared = sharedText(own.trim(), other, isPattern);
        if (shared !== null && !seenText.includes(squeeze(shared).toLowerCase())) need(quoted(shared));
      }
    }
    for (const [, code] of text.matchAll(/\bexit(?:Code)?\W{1,4}(\d+)/gi))
      if (Number(code) > 1 && [...tests.values()].some((test) => new RegExp(`\\b${code}\\b`).test(test)))
        if (!new RegExp(`\\bexit(?:Code)?\\W{1,4}${code}\\b`, "i").test(seen))
          need(word("the exit code", code!));
  }
  const paths = [...tree.keys(), ...tests.keys()];
  const stems = new Set(paths.flatMap((path) => [path, path.replace(/\.\w+$/, "")]));
  for (const path of new Set(tested.flatMap((each) => [...each.files])))
    if (![path, `${path}/index`].some((known) => stems.has(known) || stems.has(known.replace(/\.\w+$/, ""))))
      if (path !== "." && !paths.some((known) => known.startsWith(`${path}/`))) need(file(path));
  return [...needs.values()];
}

/** Words that any issue has: one that has only these names nothing. */
const EMPTY_WORDS = new Set(
  "able about after also always argument arguments bad because been before behave behaviour behavior being better broken bug call called calls case cases change changed changes code correct correctly could does doing done each error errors everything expected expects fail fails failing feature fine fix fixed from function functions give given gives good handle handled have improve incorrect input inputs instead into issue just keep like make makes method missing module more must need needs never nice nothing only option options other output package please properly result results return returned returns right same seem seems should some something sometimes source support supported than that their them then there these they thing things this those user users using value values want wants well were what when where which while will with without work working works would wrong yields your".split(
    " ",
  ),
);

/** `clampAll` -> clampall, clamp, all. */
function subjects(text: string): Set<string> {
  const parts = wordsOf(text).flatMap((each) => [each, ...each.split(/(?<=[a-z0-9])(?=[A-Z])|_/)]);
  return new Set(parts.map((part) => part.toLowerCase()).filter((part) => part.length >= 3));
}

/** `clamped` of `clamp`. */
function isForm(one: string, other: string): boolean {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  return one === other || (short.length >= 4 && long.startsWith(short));
}

/** Whether it speaks of anything that the tests or the solution name. */
function hasSubject(text: string, task: Task, tests: ReadonlyMap<string, string>): boolean {
  const mentioned = [...tests].flatMap(([path, source]) => {
    const { names, texts, patterns } = mentionsOf(path, source);
    return [...names, ...texts, ...patterns];
  });
  const sites = task.facts.sites.flatMap(({ file: path, functionName }) => [functionName, basename(path)]);
  const known = subjects([...mentioned, ...sites, ...task.failToPass].join(" "));
  const telling = [...known].filter((each) => !EMPTY_WORDS.has(each));
  return [...subjects(text)].some(
    (each) => !EMPTY_WORDS.has(each) && telling.some((other) => isForm(each, other)),
  );
}

export function determined(task: Task, root: string): Determination {
  // Worded from its own reproduction; what a mutation took away, the tree's documentation and callers still show.
  const { text } = task.facts;
  if (text === undefined)
    return { passed: true, evidence: "worded from what its tests print", neededLevel: 0 };
  const tree = agentTree(root, task);
  const tests = hiddenTests(root, task);
  const needs = [...testNeeds(tests, task.gold, tree), ...checkNeeds(task.facts.check)];
  const subject = (level: StatementLevel): boolean =>
    (level >= 1 && task.facts.reproduction !== null) ||
    hasSubject([text.title, text.body, level >= 1 ? text.contract : ""].join("\n"), task, tests);
  const missing = (level: StatementLevel): string[] => {
    const statement = writeStatement(task, level).text;
    const unsaid = [...new Set(needs.filter((each) => !each.said(statement)).map((each) => each.what))];
    return subject(level) ? unsaid : ["anything that the tests or the solution name", ...unsaid];
  };
  const unsaid = missing(1);
  if (unsaid.length > 0)
    return {
      passed: false,
      evidence: `neither the tree nor the contract says ${unsaid.slice(0, 5).join(", ")}${unsaid.length > 5 ? ` and ${unsaid.length - 5} more` : ""}`,
      neededLevel: 1,
    };
  const neededLevel = missing(0).length === 0 ? 0 : 1;
  const said =
    needs.length === 0
      ? "the tests need nothing new"
      : `said: ${needs
          .map(({ what }) => what)
          .slice(0, 5)
          .join(", ")}`;
  return { passed: true, evidence: `${said}; from level ${neededLevel} on`, neededLevel };
}
