/** What a commit's tests need and the parent's tree does not show: names, texts, and what new assertions expect. Pure. */
import type { AnyNode } from "acorn";
import type { FileChange, TypeCheck } from "../../../core/task.ts";
import { parseSource, walk } from "../../javascript/index.ts";
import { structureName } from "../checks/names.ts";
import { testNeeds } from "../determined.ts";
import type { ChangedFile } from "./types.ts";

/** Examples that are shown, and the characters of one side of each. */
const MAX_EXAMPLES = 12;
const MAX_CHARACTERS = 120;

const EQUAL =
  /^(deep|strict|loose|not)*(equals?|is|same|equivalent|deepStrictEqual|toBe|toEqual|toStrictEqual)$/i;
const NEGATED = /^not/i;

interface Example {
  readonly actual: string;
  readonly expected: string;
}

const squeeze = (text: string): string => text.replace(/\s+/g, " ").trim();

/** A call whose parts are all written down: of variables of a test nobody else knows anything. */
function isPlain(node: AnyNode, locals: ReadonlySet<string>): boolean {
  let plain = true;
  walk(node, (inner, parents, key) => {
    const isName =
      inner.type === "Identifier" && !(key === "property" && parents.at(-1)?.type === "MemberExpression");
    if (isName && key !== "key" && locals.has(inner.name)) plain = false;
    if (/Function|Yield|Await/.test(inner.type)) plain = false;
  });
  return plain;
}

/** Names that a test declares in itself: not what it loads. */
function localsOf(root: AnyNode): ReadonlySet<string> {
  const locals = new Set<string>();
  walk(root, (node, parents) => {
    if (node.type === "VariableDeclarator" && node.id.type === "Identifier") {
      const loaded =
        node.init?.type === "CallExpression" &&
        node.init.callee.type === "Identifier" &&
        node.init.callee.name === "require";
      if (!loaded && parents.length > 0) locals.add(node.id.name);
    }
    if ("params" in node)
      for (const parameter of node.params) if (parameter.type === "Identifier") locals.add(parameter.name);
  });
  return locals;
}

/** Assertions of equality: `t.equal(actual, expected)`, `expect(actual).toBe(expected)`. */
export function examplesOf(text: string): Example[] {
  const root = parseSource(text);
  if (root === null) return [];
  const locals = localsOf(root);
  const examples: Example[] = [];
  walk(root, (node) => {
    if (node.type !== "CallExpression" || node.callee.type !== "MemberExpression") return;
    const { object, property } = node.callee;
    if (property.type !== "Identifier" || !EQUAL.test(property.name) || NEGATED.test(property.name)) return;
    const isExpect =
      object.type === "CallExpression" &&
      object.callee.type === "Identifier" &&
      object.callee.name === "expect";
    const [actual, expected] = isExpect ? [object.arguments[0], node.arguments[0]] : node.arguments;
    if (actual === undefined || expected === undefined) return;
    if (actual.type !== "CallExpression" || !isPlain(actual, locals) || !isPlain(expected, locals)) return;
    const example = {
      actual: squeeze(text.slice(actual.start, actual.end)),
      expected: squeeze(text.slice(expected.start, expected.end)),
    };
    if (example.actual.length <= MAX_CHARACTERS && example.expected.length <= MAX_CHARACTERS)
      examples.push(example);
  });
  return examples;
}

function newExamples(tests: readonly ChangedFile[]): Example[] {
  const keyOf = ({ actual, expected }: Example) => `${actual} ${expected}`;
  const found = tests
    .filter(({ path }) => /\.[cm]?js$/.test(path))
    .flatMap(({ before, after }) => {
      const known = new Set(examplesOf(before).map(keyOf));
      return examplesOf(after).filter((example) => !known.has(keyOf(example)));
    });
  return [...new Map(found.map((example) => [keyOf(example), example])).values()].slice(0, MAX_EXAMPLES);
}

function ofCheck(check: TypeCheck | null): string[] {
  switch (check?.type) {
    case "migration":
      return [
        ...check.absent.map((name) => `No source loads the module ${name} any more.`),
        ...check.present.map((name) => `The module ${name} is used.`),
      ];
    case "refactor":
      return check.structure.map((assertion) => `${structureName(assertion)}.`);
    case "performance":
      return [`The benchmark takes at most 1/${check.minSpeedup} of the time.`];
    case undefined:
      return [];
  }
}

export interface Needed {
  readonly check: TypeCheck | null;
  readonly tests: readonly ChangedFile[];
  readonly gold: readonly FileChange[];
  /** The tree that the agent gets, as text. */
  readonly tree: ReadonlyMap<string, string>;
}

export function contractOf({ check, tests, gold, tree }: Needed): string {
  const hidden = new Map(
    tests.filter(({ after }) => after !== "").map(({ path, after }) => [path, after] as const),
  );
  const needs = testNeeds(hidden, gold, tree).map(({ what }) => `- ${what}`);
  const examples = newExamples(tests).map(({ actual, expected }) => `- \`${actual}\` gives \`${expected}\``);
  return [
    ...ofCheck(check),
    ...(needs.length > 0 ? [`What is new goes by these names and texts:\n\n${needs.join("\n")}`] : []),
    ...(examples.length > 0 ? [`Expected:\n\n${examples.join("\n")}`] : []),
  ].join("\n\n");
}
