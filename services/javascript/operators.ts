/**
 * The sixteen edit operators. Each rule proposes only edits after which the source still parses and which, but for a
 * dropped statement, another enumerated edit of the edited source undoes. So a rule may look only at what its own edit
 * leaves unchanged.
 */
import type { AnyNode, Expression } from "acorn";
import { walk } from "./parse.ts";
import { regularExpressionEdits } from "./regular-expression.ts";
import { references } from "./scope.ts";
import type { Operator } from "./types.ts";

/** Longer texts are not swapped: nobody makes that mistake, and edits should stay small. */
const SWAP_LIMIT = 200;
/** Statements over more lines are not dropped. */
const DROP_LINES = 4;
/** Replacements on each side of a string among the file's sorted strings. */
const STRING_REACH = 1;
const TYPE_NAMES = ["boolean", "function", "number", "object", "string", "undefined"];

/** Operators that may stand in for each other, with the operator's name in an edit. */
const BINARY: readonly (readonly [Operator, readonly string[]])[] = [
  ["comparison", ["<", "<=", ">", ">="]],
  ["equality", ["==", "!=", "===", "!=="]],
  ["arithmetic", ["+", "-", "*", "/", "%"]],
  ["arithmetic", ["&", "|", "^"]],
  ["arithmetic", ["<<", ">>", ">>>"]],
  ["logical", ["&&", "||"]],
];
const ASSIGNMENT: readonly (readonly [Operator, readonly string[]])[] = [
  ["increment", ["+=", "-="]],
  ["arithmetic", ["*=", "/="]],
  ["arithmetic", ["&=", "|="]],
];

export type Propose = (operator: Operator, start: number, end: number, replacement: string) => void;

/** Offset of `operator` between two operands: only blanks and comments may stand before it. -1 when not found. */
function operatorAt(source: string, from: number, to: number, operator: string): number {
  for (let i = from; i < to; i++) {
    if (source.startsWith("//", i)) {
      const end = source.slice(i, to).search(/[\n\r\u2028\u2029]/);
      if (end < 0) return -1;
      i += end;
    } else if (source.startsWith("/*", i)) i = source.indexOf("*/", i) + 1;
    else if (source.startsWith(operator, i)) return i;
  }
  return -1;
}

const OPERATOR_CHARACTER = /[-+*/%<>=!&|^~?]/;

/** An operator that touches another operator's characters could merge with them (`a+-b`). */
function standsAlone(source: string, start: number, end: number): boolean {
  return !OPERATOR_CHARACTER.test(source[start - 1] ?? "") && !OPERATOR_CHARACTER.test(source[end] ?? "");
}

function exchange(
  source: string,
  families: typeof BINARY,
  node: { readonly operator: string },
  from: number,
  to: number,
  propose: Propose,
): void {
  const family = families.find(([, members]) => members.includes(node.operator));
  if (family === undefined) return;
  const start = operatorAt(source, from, to, node.operator);
  const end = start + node.operator.length;
  if (start < 0 || !standsAlone(source, start, end)) return;
  for (const other of family[1]) if (other !== node.operator) propose(family[0], start, end, other);
}

/** Expressions before which a prefix operator binds the whole expression. */
const UNARY_LEVEL = new Set<AnyNode["type"]>([
  "Identifier",
  "MemberExpression",
  "CallExpression",
  "NewExpression",
  "UnaryExpression",
  "UpdateExpression",
  "ParenthesizedExpression",
  "ThisExpression",
  "Literal",
  "ArrayExpression",
]);
const BINARY_LEVEL = new Set<AnyNode["type"]>([
  ...UNARY_LEVEL,
  "BinaryExpression",
  "LogicalExpression",
  "ConditionalExpression",
]);

/** Adds or takes away a prefix before an expression, where both texts are expressions of the same place. */
function prefix(
  source: string,
  operator: Operator,
  node: AnyNode,
  text: string,
  allowed: ReadonlySet<AnyNode["type"]>,
  propose: Propose,
): void {
  const { start, end } = node;
  const body = source.slice(start, end);
  // `return!x` would become `returnx`; `!a ** b` is no expression; a bare function or object could begin a statement.
  if (/[\w$]/.test(source[start - 1] ?? "") || body.includes("**") || !allowed.has(node.type)) return;
  const rest = body.startsWith(text) ? body.slice(text.length) : null;
  const naked = rest ?? body;
  if (/^(?:[=\s{]|\/[*/]|(?:function|class|async|let)\b)/.test(naked)) return;
  if (rest === null) propose(operator, start, start, text);
  else propose(operator, start, start + text.length, "");
}

/** Expressions read as true or false. */
function conditions(node: AnyNode): (Expression | null | undefined)[] {
  switch (node.type) {
    case "IfStatement":
    case "WhileStatement":
    case "DoWhileStatement":
    case "ForStatement":
    case "ConditionalExpression":
      return [node.test];
    case "LogicalExpression":
      return node.operator === "??" ? [] : [node.left, node.right];
    default:
      return [];
  }
}

function swap(source: string, operator: Operator, a: AnyNode, b: AnyNode, propose: Propose): void {
  if (b.end - a.start > SWAP_LIMIT) return;
  const [first, second] = [source.slice(a.start, a.end), source.slice(b.start, b.end)];
  if (first === second) return;
  propose(operator, a.start, b.end, second + source.slice(a.end, b.start) + first);
}

/** Unlabelled `break` and `continue` may be exchanged where a loop of the same function is around them. */
function insideLoop(parents: readonly AnyNode[]): boolean {
  for (const parent of parents.toReversed()) {
    if (/Function|^StaticBlock$/.test(parent.type)) return false;
    if (/^(?:For|ForIn|ForOf|While|DoWhile)Statement$/.test(parent.type)) return true;
  }
  return false;
}

function isPlainString(source: string, node: AnyNode, parents: readonly AnyNode[], key: string): boolean {
  if (node.type !== "Literal" || typeof node.value !== "string" || node.end - node.start > 42) return false;
  if (source.slice(node.start + 1, node.end - 1) !== node.value || /['"`\\]/.test(node.value)) return false;
  const parent = parents.at(-1);
  if (parent?.type === "CallExpression" && parent.callee.type === "Identifier")
    return parent.callee.name !== "require";
  return (
    key !== "key" && key !== "source" && !/^(?:Import|Export|ExpressionStatement)/.test(parent?.type ?? "")
  );
}

/**
 * A string that occurs again may become a neighbour in the file's sorted list of strings; the list stays the same, and so
 * does the way back. Names of types may always become each other.
 */
function stringEdits(source: string, strings: readonly AnyNode[], propose: Propose): void {
  const counts = new Map<string, number>();
  const textOf = (node: AnyNode) => source.slice(node.start + 1, node.end - 1);
  for (const node of strings) counts.set(textOf(node), (counts.get(textOf(node)) ?? 0) + 1);
  const sorted = [...counts.keys()].sort();
  for (const node of strings) {
    const text = textOf(node);
    const at = sorted.indexOf(text);
    const near =
      counts.get(text)! > 1 ? sorted.slice(Math.max(0, at - STRING_REACH), at + STRING_REACH + 1) : [];
    const names = TYPE_NAMES.includes(text) ? TYPE_NAMES : [];
    for (const other of new Set([...near, ...names]))
      if (other !== text) propose("string", node.start + 1, node.end - 1, other);
  }
}

/** Proposes every edit of the source, in the order of the tree; the caller sorts and drops duplicates. */
export function proposeEdits(source: string, root: AnyNode, propose: Propose): void {
  const statementStarts = new Set<number>();
  const strings: AnyNode[] = [];
  const negate = (node: Expression | null | undefined) => {
    // At the start of a statement the text before could run on into it.
    if (node && !statementStarts.has(node.start)) prefix(source, "negation", node, "!", UNARY_LEVEL, propose);
  };
  walk(root, (node, parents, key) => {
    for (const condition of conditions(node)) negate(condition);
    switch (node.type) {
      case "BinaryExpression":
      case "LogicalExpression":
        exchange(source, BINARY, node, node.left.end, node.right.start, propose);
        break;
      case "AssignmentExpression":
        exchange(source, ASSIGNMENT, node, node.left.end, node.right.start, propose);
        break;
      case "UpdateExpression": {
        const start = node.prefix ? node.start : node.end - 2;
        const other = node.operator === "++" ? "--" : "++";
        if (standsAlone(source, start, start + 2)) propose("increment", start, start + 2, other);
        break;
      }
      case "ConditionalExpression":
        if (!/\bin\b/.test(source.slice(node.consequent.start, node.end)))
          swap(source, "ternary", node.consequent, node.alternate, propose);
        break;
      case "CallExpression":
      case "NewExpression":
        for (let i = 1; i < node.arguments.length; i++)
          swap(source, "argument-order", node.arguments[i - 1]!, node.arguments[i]!, propose);
        break;
      case "ReturnStatement":
        if (node.argument) {
          prefix(source, "return", node.argument, "!", BINARY_LEVEL, propose);
          prefix(source, "return", node.argument, "void ", BINARY_LEVEL, propose);
        }
        break;
      case "Literal": {
        const { start, end } = node;
        const raw = source.slice(start, end);
        if (typeof node.value === "boolean") propose("boolean", start, end, String(!node.value));
        else if (/^(?:0|[1-9]\d{0,8})$/.test(raw)) {
          const value = Number(raw);
          if (value < 999999999) propose("constant", start, end, String(value + 1));
          if (value > 0) propose("constant", start, end, String(value - 1));
        } else if ("regex" in node && node.regex !== undefined)
          for (const edit of regularExpressionEdits(raw))
            propose("regular-expression", start + edit.start, start + edit.end, edit.replacement);
        else if (isPlainString(source, node, parents, key)) strings.push(node);
        break;
      }
      case "BreakStatement":
      case "ContinueStatement": {
        const word = node.type === "BreakStatement" ? "break" : "continue";
        const other = word === "break" ? "continue" : "break";
        if (!node.label && insideLoop(parents))
          propose("loop-control", node.start, node.start + word.length, other);
        break;
      }
      case "ExpressionStatement": {
        statementStarts.add(node.start);
        const text = source.slice(node.start, node.end);
        if (!("directive" in node && node.directive) && text.split("\n").length <= DROP_LINES && text !== ";")
          propose("dropped-statement", node.start, node.end, ";");
        break;
      }
      default:
    }
  });
  for (const { node, replacements } of references(root))
    for (const name of replacements) propose("variable", node.start, node.end, name);
  stringEdits(source, strings, propose);
}
