/**
 * Statements: a task's facts worded as an issue, more specific with each level. Pure templates with a fixed layout, so that the
 * smallest policy can find its way: `Run:`, `Prints:` and `Should print:` each stand before a fenced block, names and
 * `file:line` stand in backticks. Refinement changes only this text; change and tests of a task stay as they are.
 */
import type { AuthoredText, Statement, StatementLevel, Task, TaskType } from "../../core/task.ts";
import { MODULE_FUNCTION } from "../languages/index.ts";
import { sha256 } from "./changes.ts";
import { symptom } from "./symptom.ts";

/** Plain name of a kind of mistake, by operator. A statement quotes the operator's own name beside it. */
const MISTAKES: Readonly<Record<string, string>> = {
  comparison: "a wrong comparison",
  equality: "a wrong test for equality",
  arithmetic: "a wrong arithmetic operator",
  logical: "a wrong logical operator",
  negation: "a negation too many or too few",
  constant: "a wrong constant",
  boolean: "a wrong true or false",
  return: "a wrong return",
  "argument-order": "arguments in the wrong order",
  variable: "the wrong variable",
  string: "a wrong string",
  ternary: "the two results of a condition swapped",
  increment: "a wrong increment or decrement",
  "regular-expression": "a wrong regular expression",
  "loop-control": "a wrong loop control",
  "dropped-statement": "a missing statement",
  nullish: "a wrong test for a missing value",
  "slice-bound": "a wrong bound of a slice",
  "keyword-default": "a wrong default of a parameter",
  identity: "a wrong test for identity",
  membership: "a wrong test for membership",
  "exception-type": "a wrong type of exception",
  "nil-check": "a wrong test for nil",
  "error-return": "a wrong error returned",
  "removed-body": "a body that was never written",
};

/** `minimist` of `minimist@1.2.8-0123456789ab`. */
export function packageOf(environment: string): string {
  const at = environment.lastIndexOf("@");
  return at > 0 ? environment.slice(0, at) : environment;
}

function block(language: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map((match) => match[0].length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

function symptomsOf(task: Task): string[] {
  const { reproduction } = task.facts;
  if (reproduction === null) return [];
  const actual = reproduction.actual.split("\n");
  const expected = reproduction.expected.split("\n");
  return expected.map((line, i) => symptom(actual[i] ?? "undefined", line));
}

function sentence(clause: string): string {
  return `${clause[0]!.toUpperCase()}${clause.slice(1)}.`;
}

function headline(task: Task): string {
  const name = packageOf(task.environment);
  if (task.type === "feature") return `${name}: a function is not implemented yet`;
  const first = symptomsOf(task)[0];
  return first === undefined ? `${name}: wrong results` : `${name}: ${first}`;
}

function opening(task: Task): string {
  const symptoms = symptomsOf(task);
  if (task.type === "feature")
    return [
      "One of the package's functions is only a stub. What it has to do follows from the code that calls it and from the package's documentation.",
      ...symptoms.map((clause) => `For now ${clause}.`),
    ].join(" ");
  if (task.facts.sites.length > 1)
    return symptoms.length > 1
      ? [
          "Two things are broken.",
          ...symptoms.map((clause, i) => `${i === 0 ? "First" : "Second"}, ${clause}.`),
        ].join(" ")
      : ["Two things are broken; one may hide the other.", ...symptoms.map(sentence)].join(" ");
  return symptoms.length > 0
    ? `For some inputs ${symptoms[0]}.`
    : "Some calls no longer do what the package's documentation says.";
}

/** A function without a name is called by its line or its module elsewhere; here that would say too much. */
function called(name: string): string {
  if (name === MODULE_FUNCTION) return "the code outside of any function";
  return name.startsWith("<") ? "a function without a name" : `the function \`${name}\``;
}

function functionHint(task: Task): string {
  const { sites } = task.facts;
  const functions = [...new Set(sites.map((site) => called(site.functionName)))].join(" and ");
  if (task.type === "feature") return `The stub is ${functions}.`;
  return `The ${sites.length > 1 ? "mistakes seem" : "mistake seems"} to be in ${functions}.`;
}

function siteHint(task: Task): string {
  return task.facts.sites
    .map(
      ({ file, line, operator }) =>
        `Look at \`${file}:${line}\`: ${MISTAKES[operator] ?? "a mistake"} (\`${operator}\`).`,
    )
    .join("\n");
}

/** What is to be done at a place, by type. */
const WORK: Readonly<Record<TaskType, string>> = {
  bug: "what goes wrong",
  feature: "what is missing",
  refactor: "what is to be restructured",
  migration: "what is to be moved",
  performance: "what takes the time",
};

function authoredFunctions(task: Task): string {
  const functions = [...new Set(task.facts.sites.map((site) => called(site.functionName)))];
  return functions.length === 0 ? "" : `It concerns ${functions.join(" and ")}.`;
}

function authoredSites(task: Task): string {
  return task.facts.sites
    .map(({ file, line, operator }) => {
      const mistake = MISTAKES[operator];
      const kind = mistake === undefined ? WORK[task.type] : `${mistake} (\`${operator}\`)`;
      return `Look at \`${file}:${line}\`: ${kind}.`;
    })
    .join("\n");
}

const CLOSING: Readonly<Record<TaskType, string>> = {
  bug: "Please correct the package's source. Everything else must keep working.",
  feature: "Please implement it. Everything else must keep working.",
  refactor: "Please restructure the package's source. What it does must stay the same.",
  migration: "Please carry the change through the package's source. What it does must stay the same.",
  performance: "Please make the package's source faster. What it does must stay the same.",
};

/** What an author or a commit wrote takes the place of the symptoms; each level adds to it as to any other statement. */
function authoredParts({ title, body, contract }: AuthoredText, level: StatementLevel): string[] {
  return [title, body, level >= 1 ? contract : ""].map((part) => part.trim()).filter((part) => part !== "");
}

/** What is seen where no call shows it: how much fails, of tests that stay hidden. */
function observation({ failToPass, passToPass }: Task): string {
  const failing = failToPass.length;
  const all = failing + passToPass.length;
  const verb = failing === 1 ? "fails" : "fail";
  return `${failing} of the package's ${all} tests ${verb}, in files that are not shown here.`;
}

export function writeStatement(task: Task, level: StatementLevel): Statement {
  const { reproduction, text: authored } = task.facts;
  const parts = authored === undefined ? [headline(task), opening(task)] : authoredParts(authored, level);
  if (level >= 1 && reproduction !== null)
    parts.push(
      `Run:\n\n${block("sh", reproduction.command)}`,
      `Prints:\n\n${block("", reproduction.actual)}`,
      `Should print:\n\n${block("", reproduction.expected)}`,
    );
  if (level >= 1 && reproduction === null && authored === undefined) parts.push(observation(task));
  if (level >= 2) parts.push(authored === undefined ? functionHint(task) : authoredFunctions(task));
  if (level >= 3) parts.push(authored === undefined ? siteHint(task) : authoredSites(task));
  parts.push(CLOSING[task.type]);
  const text = `${parts.filter((part) => part !== "").join("\n\n")}\n`;
  return { taskId: task.id, level, text, hash: sha256(text) };
}
