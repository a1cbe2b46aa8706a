/** The edit operators of Python: those that mean the same in every language, and its own. */
import { OPERATORS as SHARED } from "../javascript/index.ts";
import {
  DROP_LINES,
  exchange,
  type Family,
  integer,
  isPlain,
  lines,
  pattern,
  prefix,
  strings,
  swap,
} from "./edits.ts";
import type { SyntaxNode } from "./grammars.ts";
import { references } from "./python-scope.ts";
import { sliceBounds } from "./slices.ts";
import { field, namedChildren, walk } from "./tree.ts";
import type { Propose } from "./tree-language.ts";

export const OPERATORS = [
  ...SHARED,
  "slice-bound",
  "keyword-default",
  "identity",
  "membership",
  "exception-type",
] as const;

const BINARY: readonly Family[] = [
  ["arithmetic", ["+", "-", "*", "/", "//", "%"]],
  ["arithmetic", ["&", "|", "^"]],
  ["arithmetic", ["<<", ">>"]],
  ["logical", ["and", "or"]],
];
const ASSIGNMENT: readonly Family[] = [
  ["increment", ["+=", "-="]],
  ["arithmetic", ["*=", "/="]],
  ["arithmetic", ["&=", "|="]],
];
const COMPARISON: readonly Family[] = [
  ["comparison", ["<", "<=", ">", ">="]],
  ["equality", ["==", "!="]],
  ["identity", ["is", "is not"]],
  ["membership", ["in", "not in"]],
];
/** Of names and what hangs on them: with a literal, Python warns or nothing changes. */
const SAME: readonly Family[] = [
  ["identity", ["==", "is"]],
  ["identity", ["!=", "is not"]],
];
const EXCEPTIONS: readonly Family[] = [
  ["exception-type", ["ValueError", "TypeError"]],
  ["exception-type", ["KeyError", "IndexError", "AttributeError"]],
  ["exception-type", ["OSError", "RuntimeError"]],
];
const CONSTANTS: readonly Family[] = [["keyword-default", ["None", "True", "False"]]];
const LOOP: readonly Family[] = [["loop-control", ["break", "continue"]]];

const NAMES = new Set(["identifier", "attribute", "call", "subscript"]);
/** Expressions that `not` binds whole. */
const NEGATABLE = new Set([
  ...NAMES,
  ...["comparison_operator", "parenthesized_expression", "binary_operator", "unary_operator", "none"],
]);

/** Adds `not ` or takes it away. */
function negate(text: string, operator: string, node: SyntaxNode | undefined, propose: Propose): void {
  if (node === undefined) return;
  const inner = node.type === "not_operator" ? field(node, "argument")! : node;
  if (NEGATABLE.has(inner.type)) prefix(text, operator, node, "not ", propose);
}

/** Expressions read as true or false. */
function conditions(node: SyntaxNode): (SyntaxNode | undefined)[] {
  switch (node.type) {
    case "if_statement":
    case "elif_clause":
    case "while_statement":
      return [field(node, "condition")];
    case "conditional_expression":
      return [namedChildren(node)[1]];
    case "boolean_operator":
      return [field(node, "left"), field(node, "right")];
    case "if_clause":
    case "assert_statement":
      return [namedChildren(node)[0]];
    default:
      return [];
  }
}

function comparison(text: string, node: SyntaxNode, propose: Propose): void {
  for (const [i, token] of node.children.entries()) {
    if (token.field !== "operators") continue;
    exchange(text, COMPARISON, token, propose);
    const sides = [node.children[i - 1], node.children[i + 1]];
    if (sides.every((side) => NAMES.has(side?.type ?? ""))) exchange(text, SAME, token, propose);
  }
}

/** In a loop's body; its `else` belongs to the loop around it. */
function insideLoop(parents: readonly SyntaxNode[]): boolean {
  for (const [i, parent] of [...parents.entries()].reverse()) {
    if (/^(?:function_definition|class_definition|lambda)$/.test(parent.type)) return false;
    if (/^(?:for|while)_statement$/.test(parent.type) && parents[i + 1]?.field === "body") return true;
  }
  return false;
}

/** Calls, changes of something that stays, and refusals. */
function isDroppable(node: SyntaxNode): boolean {
  if (node.type === "raise_statement") return true;
  const own = node.type === "expression_statement" && node.children.length === 1 ? node.children[0]! : null;
  if (own?.type === "assignment") return /^(?:attribute|subscript)$/.test(field(own, "left")!.type);
  return own?.type === "call" || own?.type === "augmented_assignment";
}

function defaults(text: string, node: SyntaxNode, propose: Propose): void {
  const values = node.children.flatMap((parameter) =>
    /^(?:typed_)?default_parameter$/.test(parameter.type) ? field(parameter, "value")! : [],
  );
  for (const [i, value] of values.entries()) {
    exchange(text, CONSTANTS, value, propose);
    if (i > 0) swap(text, "keyword-default", values[i - 1]!, value, propose);
  }
}

/** The exceptions that a clause or a statement names. */
function exceptions(node: SyntaxNode | undefined): SyntaxNode[] {
  switch (node?.type) {
    case "identifier":
      return [node];
    case "call":
      return exceptions(field(node, "function"));
    case "as_pattern":
      return exceptions(namedChildren(node)[0]);
    case "tuple":
      return namedChildren(node).flatMap(exceptions);
    default:
      return [];
  }
}

function literal(node: SyntaxNode, text: string): { delimiter: string; start: number; end: number } | null {
  const [open, content, close] = node.children;
  if (open === undefined || content === undefined || content.type === "interpolation") return null;
  const delimiter = text.slice(open.start, open.end);
  const last = close ?? content;
  return node.children.length > 3 ? null : { delimiter, start: open.end, end: last.start };
}

function isPattern(parents: readonly SyntaxNode[], node: SyntaxNode, text: string): boolean {
  const list = parents.at(-1);
  const callee = list?.type === "argument_list" ? field(parents.at(-2)!, "function") : undefined;
  const called = callee === undefined ? "" : text.slice(callee.start, callee.end);
  return /^(?:re|regex)\.\w+$/.test(called) && namedChildren(list!)[0] === node;
}

export function proposeEdits(root: SyntaxNode, text: string, propose: Propose): void {
  const contents: { start: number; end: number }[] = [];
  walk(root, (node, parents) => {
    const { type, start, end } = node;
    if (type === "type" || type === "case_pattern") return false;
    for (const condition of conditions(node)) negate(text, "negation", condition, propose);
    if (isDroppable(node) && lines(text, node) <= DROP_LINES)
      propose("dropped-statement", start, end, "pass");
    switch (type) {
      case "binary_operator":
      case "boolean_operator":
        exchange(text, BINARY, field(node, "operator"), propose);
        break;
      case "comparison_operator":
        comparison(text, node, propose);
        break;
      case "augmented_assignment":
        exchange(text, ASSIGNMENT, field(node, "operator"), propose);
        break;
      case "conditional_expression": {
        const [whenTrue, , whenFalse] = namedChildren(node);
        if (![whenTrue, whenFalse].some((side) => /^(?:conditional_expression|lambda)$/.test(side!.type)))
          swap(text, "ternary", whenTrue!, whenFalse!, propose);
        break;
      }
      case "argument_list": {
        if (parents.at(-1)?.type !== "call") break;
        const list = namedChildren(node).filter(
          (each) => !/^(?:keyword_argument|list_splat|dictionary_splat)$/.test(each.type),
        );
        for (let i = 1; i < list.length; i++) swap(text, "argument-order", list[i - 1]!, list[i]!, propose);
        break;
      }
      case "return_statement":
        negate(text, "return", namedChildren(node)[0], propose);
        break;
      case "integer":
        integer(text, node, propose);
        break;
      case "true":
      case "false":
        propose("boolean", start, end, type === "true" ? "False" : "True");
        break;
      case "slice":
        sliceBounds(text, start, end, namedChildren(node), " ", propose);
        break;
      case "parameters":
      case "lambda_parameters":
        defaults(text, node, propose);
        break;
      case "raise_statement":
        for (const name of exceptions(namedChildren(node)[0])) exchange(text, EXCEPTIONS, name, propose);
        break;
      case "except_clause":
        for (const name of exceptions(field(node, "value"))) exchange(text, EXCEPTIONS, name, propose);
        break;
      case "string": {
        const found = literal(node, text);
        if (found === null) break;
        const content = text.slice(found.start, found.end);
        const raw = /^[rR]/.test(found.delimiter);
        if (!/^[rR]?["']$/.test(found.delimiter)) break;
        if (isPattern(parents, node, text)) {
          if (raw || !content.includes("\\")) pattern(text, found.start, found.end, propose);
        } else if (
          !raw &&
          isPlain(content) &&
          node.field !== "key" &&
          parents.at(-1)?.type !== "expression_statement"
        )
          contents.push(found);
        break;
      }
      case "break_statement":
      case "continue_statement":
        if (insideLoop(parents)) exchange(text, LOOP, node, propose);
        break;
      default:
    }
    return true;
  });
  for (const { node, replacements } of references(root, text))
    for (const name of replacements) propose("variable", node.start, node.end, name);
  strings(text, contents, [], propose);
}
