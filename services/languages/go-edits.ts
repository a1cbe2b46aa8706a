/**
 * The edit operators of Go. Its compiler refuses what other languages only run into: operands of two types, variables and packages
 * that nobody uses. So an edit is offered only where the kinds of the names are known to agree (go-scope.ts).
 */
import { OPERATORS as SHARED } from "../javascript/index.ts";
import {
  DROP_LINES,
  exchange,
  type Family,
  integer,
  isPlain,
  lines,
  neighbours,
  pattern,
  prefix,
  strings,
  swap,
} from "./edits.ts";
import { isFunction, isRead, Kinds, readsOf, resultTypes, type Variable } from "./go-scope.ts";
import type { SyntaxNode } from "./grammars.ts";
import { sliceBounds } from "./slices.ts";
import { field, namedChildren, walk } from "./tree.ts";
import type { Propose } from "./tree-language.ts";

/** Go has no conditional expression. */
export const OPERATORS = [
  "nil-check",
  "error-return",
  "slice-bound",
  ...SHARED.filter((operator) => operator !== "ternary"),
];

const BINARY: readonly Family[] = [
  ["comparison", ["<", "<=", ">", ">="]],
  ["equality", ["==", "!="]],
  ["logical", ["&&", "||"]],
  ["arithmetic", ["&", "|", "^"]],
  ["arithmetic", ["<<", ">>"]],
];
const NIL: readonly Family[] = [["nil-check", ["==", "!="]]];
const WHOLE: readonly Family[] = [["arithmetic", ["+", "-", "*", "/", "%"]]];
const BROKEN: readonly Family[] = [["arithmetic", ["+", "-", "*", "/"]]];
const STEP: readonly Family[] = [["increment", ["++", "--"]]];
const ASSIGNMENT: readonly Family[] = [
  ["increment", ["+=", "-="]],
  ["arithmetic", ["*=", "/="]],
  ["arithmetic", ["&=", "|="]],
];
const LOOP: readonly Family[] = [["loop-control", ["break", "continue"]]];

const INTEGER = /^(?:u?int(?:8|16|32|64)?|byte|rune)$/;
const FLOAT = /^float(?:32|64)$/;

/** Expressions that `!` binds whole. */
const NEGATABLE =
  /^(?:identifier|call_expression|selector_expression|index_expression|parenthesized_expression|true|false)$/;

/** One function's names, and how often each is read. */
interface Scope {
  readonly kinds: Kinds;
  readonly reads: ReadonlyMap<string, number>;
}

function negate(text: string, operator: string, node: SyntaxNode | undefined, propose: Propose): void {
  if (node === undefined) return;
  const negated = node.type === "unary_expression" && field(node, "operator")!.type === "!";
  const inner = negated ? field(node, "operand")! : node;
  if (NEGATABLE.test(inner.type)) prefix(text, operator, node, "!", propose);
}

/** Expressions that are true or false. */
function conditions(node: SyntaxNode): (SyntaxNode | undefined)[] {
  const operator = node.type === "binary_expression" ? field(node, "operator")!.type : "";
  if (operator === "&&" || operator === "||") return [field(node, "left"), field(node, "right")];
  if (node.type === "if_statement" || node.type === "for_clause") return [field(node, "condition")];
  if (node.type === "for_statement")
    return [namedChildren(node).find(({ type }) => !/_clause$|^block$/.test(type))];
  return [];
}

const isNumber = (kind: string | null) => kind !== null && (INTEGER.test(kind) || FLOAT.test(kind));

/** The kind of two operands: where one is a plain number, that of the other. */
function common(left: string | null, right: string | null): string | null {
  if (left === null || right === null) return left ?? right;
  return FLOAT.test(right) ? right : left;
}

function binary(
  text: string,
  node: SyntaxNode,
  parents: readonly SyntaxNode[],
  kinds: Kinds,
  propose: Propose,
): void {
  const token = field(node, "operator");
  if (field(node, "right")!.type === "nil") exchange(text, NIL, token, propose);
  exchange(text, BINARY, token, propose);
  const seen = kinds.seen(parents, node);
  const kind = common(kinds.of(field(node, "left"), seen), kinds.of(field(node, "right"), seen));
  if (isNumber(kind)) exchange(text, INTEGER.test(kind!) ? WHOLE : BROKEN, token, propose);
}

function assignment(
  text: string,
  node: SyntaxNode,
  parents: readonly SyntaxNode[],
  kinds: Kinds,
  propose: Propose,
): void {
  const seen = kinds.seen(parents, node);
  const [left] = namedChildren(field(node, "left")!);
  const [right] = namedChildren(field(node, "right")!);
  if (isNumber(common(kinds.of(left, seen), kinds.of(right, seen))))
    exchange(text, ASSIGNMENT, field(node, "operator"), propose);
}

/** Read by somebody else too, once `times` of its reads are gone. */
function staysUsed(variable: Variable, { reads }: Scope, times: number): boolean {
  return variable.parameter || (reads.get(variable.name) ?? 0) > times;
}

/** Names of the same kind; each of the two has to stay used without this place, or no way would lead back. */
function variables(
  text: string,
  node: SyntaxNode,
  parents: readonly SyntaxNode[],
  scope: Scope,
  propose: Propose,
): void {
  const seen = scope.kinds.seen(parents, node);
  const own = seen.find(({ name }) => name === text.slice(node.start, node.end));
  if (own === undefined || own.kind === null || !staysUsed(own, scope, 1)) return;
  const alike = seen.filter(({ kind }) => kind === own.kind);
  for (const name of neighbours(
    alike.map((each) => each.name),
    own.name,
  ))
    if (staysUsed(alike.find((each) => each.name === name)!, scope, 0))
      propose("variable", node.start, node.end, name);
}

/** `return x, err` and `return x, nil`, where `err` is at hand. */
function errorReturn(
  text: string,
  values: readonly SyntaxNode[],
  parents: readonly SyntaxNode[],
  scope: Scope,
  propose: Propose,
): void {
  const around = parents.findLast(isFunction);
  const last = values.at(-1);
  if (around === undefined || last === undefined || resultTypes(around, text).at(-1) !== "error") return;
  const error = scope.kinds.seen(parents, last).find(({ name, kind }) => name === "err" && kind === "error");
  const word = text.slice(last.start, last.end);
  if (error === undefined || (word !== "err" && word !== "nil")) return;
  if (staysUsed(error, scope, word === "err" ? 1 : 0))
    propose("error-return", last.start, last.end, word === "err" ? "nil" : "err");
}

/** A statement on lines of its own, without which every name is still used. */
function isDroppable(
  text: string,
  node: SyntaxNode,
  parents: readonly SyntaxNode[],
  scope: Scope,
  uses: ReadonlyMap<string, number>,
): boolean {
  if (!/^(?:expression_statement|assignment_statement|inc_statement|dec_statement)$/.test(node.type))
    return false;
  if (parents.at(-1)?.type !== "statement_list" || lines(text, node) > DROP_LINES) return false;
  const before = text.slice(text.lastIndexOf("\n", node.start - 1) + 1, node.start);
  if (before.trim() !== "" || !/^[ \t]*(?:\r?\n|$)/.test(text.slice(node.end))) return false;
  const own = readsOf(node, text);
  const seen = scope.kinds.seen(parents, node);
  return [...own].every(([name, times]) => {
    const variable = seen.find((each) => each.name === name);
    return variable === undefined ? (uses.get(name) ?? 0) > times : staysUsed(variable, scope, times);
  });
}

function insideLoop(parents: readonly SyntaxNode[]): boolean {
  const at = parents.findLastIndex((parent) => isFunction(parent) || parent.type === "for_statement");
  return at >= 0 && parents[at]!.type === "for_statement";
}

/** Two equal cases or keys do not compile. */
function isUnique(parents: readonly SyntaxNode[], node: SyntaxNode): boolean {
  return [...parents, node].some(
    ({ type, field: place }, i) =>
      (type === "literal_element" && place === "key") ||
      (place === "value" && parents[i - 1]?.type === "expression_case") ||
      type === "import_spec" ||
      place === "tag",
  );
}

/** A divisor is never made zero, nor is the length of an array another. */
function isFixed(parents: readonly SyntaxNode[], node: SyntaxNode): boolean {
  const parent = parents.at(-1);
  const operator = parent?.type === "binary_expression" ? field(parent, "operator")!.type : "";
  return node.field === "length" || (node.field === "right" && (operator === "/" || operator === "%"));
}

function isPattern(parents: readonly SyntaxNode[], node: SyntaxNode, text: string): boolean {
  const list = parents.at(-1);
  const callee = list?.type === "argument_list" ? field(parents.at(-2)!, "function") : undefined;
  const called = callee === undefined ? "" : text.slice(callee.start, callee.end);
  return /^regexp\.(?:Must)?(?:Compile|Match)\w*$/.test(called) && namedChildren(list!)[0] === node;
}

export function proposeEdits(root: SyntaxNode, text: string, propose: Propose): void {
  const kinds = new Kinds(root, text);
  const uses = readsOf(root, text);
  const contents: { start: number; end: number }[] = [];
  const readsByFunction = new Map<SyntaxNode, ReadonlyMap<string, number>>();
  const scopeOf = (parents: readonly SyntaxNode[]): Scope => {
    const outermost = parents.find(isFunction);
    if (outermost === undefined) return { kinds, reads: uses };
    const reads = readsByFunction.get(outermost) ?? readsOf(outermost, text);
    readsByFunction.set(outermost, reads);
    return { kinds, reads };
  };
  walk(root, (node, parents) => {
    const { type, start, end } = node;
    for (const condition of conditions(node)) negate(text, "negation", condition, propose);
    if (isDroppable(text, node, parents, scopeOf(parents), uses))
      propose("dropped-statement", start, end, "");
    switch (type) {
      case "binary_expression":
        binary(text, node, parents, kinds, propose);
        break;
      case "assignment_statement":
        assignment(text, node, parents, kinds, propose);
        break;
      case "inc_statement":
      case "dec_statement":
        exchange(text, STEP, node.children.at(-1), propose);
        break;
      case "argument_list": {
        const list = namedChildren(node);
        const seen = kinds.seen(parents, node);
        for (let i = 1; i < list.length; i++) {
          const kind = kinds.of(list[i], seen);
          if (kind !== null && kind === kinds.of(list[i - 1], seen))
            swap(text, "argument-order", list[i - 1]!, list[i]!, propose);
        }
        break;
      }
      case "return_statement": {
        const values = node.children.flatMap((child) =>
          child.type === "expression_list" ? namedChildren(child) : [],
        );
        const list = node.children.find((child) => child.type === "expression_list");
        const around = parents.findLast(isFunction);
        if (values.length === 1 && around !== undefined && resultTypes(around, text).join() === "bool")
          negate(text, "return", values[0], propose);
        if (list !== undefined)
          errorReturn(text, values, [...parents, node, list], scopeOf(parents), propose);
        break;
      }
      case "slice_expression": {
        const [open, close] = [node.children.find((child) => child.type === "["), node.children.at(-1)];
        const bounds = ["start", "end", "capacity"].flatMap((name) => field(node, name) ?? []);
        sliceBounds(text, open!.end, close!.start, bounds, "", propose);
        break;
      }
      case "int_literal":
        if (!isUnique(parents, node) && !isFixed(parents, node)) integer(text, node, propose);
        break;
      case "true":
      case "false":
        propose("boolean", start, end, type === "true" ? "false" : "true");
        break;
      case "interpreted_string_literal":
      case "raw_string_literal": {
        const content = text.slice(start + 1, end - 1);
        if (isPattern(parents, node, text)) {
          if (type === "raw_string_literal" || !content.includes("\\"))
            pattern(text, start + 1, end - 1, propose);
        } else if (type === "interpreted_string_literal" && isPlain(content) && !isUnique(parents, node))
          contents.push({ start: start + 1, end: end - 1 });
        return false;
      }
      case "break_statement":
      case "continue_statement":
        if (namedChildren(node).length === 0 && insideLoop(parents)) exchange(text, LOOP, node, propose);
        break;
      case "identifier":
        if (isRead(node, parents)) variables(text, node, parents, scopeOf(parents), propose);
        break;
      default:
    }
    return true;
  });
  strings(text, contents, [], propose);
}
