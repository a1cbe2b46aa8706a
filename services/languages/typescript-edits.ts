/** The edit operators of TypeScript: those of JavaScript, and one of its own. Types are left alone. */
import { regularExpressionEdits, OPERATORS as SHARED } from "../javascript/index.ts";
import { isFunction } from "./ecmascript.ts";
import {
  DROP_LINES,
  exchange,
  type Family,
  integer,
  isPlain,
  lines,
  prefix,
  strings,
  swap,
} from "./edits.ts";
import type { SyntaxNode } from "./grammars.ts";
import { field, namedChildren, walk } from "./tree.ts";
import type { Propose } from "./tree-language.ts";
import { references } from "./typescript-scope.ts";

export const OPERATORS = [...SHARED, "nullish"] as const;

const RELATIONS = ["<", "<=", ">", ">="];
const BINARY: readonly Family[] = [
  ["equality", ["==", "!=", "===", "!=="]],
  ["arithmetic", ["+", "-", "*", "/", "%"]],
  ["arithmetic", ["&", "|", "^"]],
  ["arithmetic", ["<<", ">>", ">>>"]],
  ["logical", ["&&", "||"]],
];
const ASSIGNMENT: readonly Family[] = [
  ["increment", ["+=", "-="]],
  ["arithmetic", ["*=", "/="]],
  ["arithmetic", ["&=", "|="]],
];
const TYPE_NAMES = ["boolean", "function", "number", "object", "string", "undefined"];

/** Expressions before which a prefix operator binds the whole expression. */
const UNARY_LEVEL = new Set([
  ...["identifier", "member_expression", "subscript_expression", "call_expression", "new_expression"],
  ...["unary_expression", "parenthesized_expression", "this", "number", "string", "array", "true", "false"],
  ...["null", "undefined", "non_null_expression"],
]);
const BINARY_LEVEL = new Set([...UNARY_LEVEL, "binary_expression", "ternary_expression"]);

/** Types, and declarations that are nothing but types. */
const TYPES =
  /_type$|^type_(?!assertion)|^(?:interface_declaration|enum_declaration|ambient_declaration|implements_clause|asserts|import_statement|export_clause)$/;

const LOOPS = /^(?:for|for_in|while|do)_statement$/;

const operatorOf = (node: SyntaxNode | undefined) =>
  node?.type === "binary_expression" ? field(node, "operator")!.type : "";

/** `a < b > (c)` is a call with type arguments: beside another relation, one is not exchanged. */
function ambiguous(node: SyntaxNode, parent: SyntaxNode | undefined): boolean {
  const near = [parent, ...node.children, ...(parent?.type === "arguments" ? parent.children : [])];
  return near.some((other) => other !== node && RELATIONS.includes(operatorOf(other)));
}

function binary(text: string, node: SyntaxNode, parent: SyntaxNode | undefined, propose: Propose): void {
  const token = field(node, "operator")!;
  exchange(text, BINARY, token, propose);
  if (RELATIONS.includes(token.type)) {
    if (!ambiguous(node, parent)) exchange(text, [["comparison", RELATIONS]], token, propose);
  } else if (token.type === "??" || token.type === "||") {
    // Mixed with each other or with `&&`, they need parentheses.
    const mixed = [parent, ...node.children].some((other) => ["&&", "||", "??"].includes(operatorOf(other)));
    if (!mixed) exchange(text, [["nullish", ["??", "||"]]], token, propose);
  }
}

/** The expression that a prefix at the start of `node` stands before; null without one. */
function prefixed(node: SyntaxNode): SyntaxNode | null {
  let inner: SyntaxNode | undefined = node;
  while (inner !== undefined && inner.type !== "unary_expression")
    inner = inner.children.find((child) => child.start === node.start);
  return inner === undefined ? null : field(inner, "argument")!;
}

function prefixable(
  text: string,
  operator: string,
  node: SyntaxNode | undefined,
  word: string,
  allowed: ReadonlySet<string>,
  propose: Propose,
): void {
  if (node === undefined || !allowed.has(node.type)) return;
  const body = text.slice(node.start, node.end);
  // `!a ** b` is no expression; a bare function, object or tag could begin something else.
  const naked = body.startsWith(word) ? body.slice(word.length) : body;
  if (body.includes("**") || /^(?:[=\s{<#]|\/[*/]|(?:function|class|async|let|await|yield)\b)/.test(naked))
    return;
  if (naked !== body && !UNARY_LEVEL.has(prefixed(node)?.type ?? "")) return;
  prefix(text, operator, node, word, propose);
}

/** Expressions read as true or false. */
function conditions(node: SyntaxNode): (SyntaxNode | undefined)[] {
  const condition = field(node, "condition");
  if (/^(?:if|while|do)_statement$/.test(node.type)) return condition ? [namedChildren(condition)[0]] : [];
  if (node.type === "for_statement" || node.type === "ternary_expression") return [condition];
  return ["&&", "||"].includes(operatorOf(node)) ? [field(node, "left"), field(node, "right")] : [];
}

function insideLoop(parents: readonly SyntaxNode[]): boolean {
  for (const parent of parents.toReversed()) {
    if (isFunction(parent) || parent.type === "class_static_block") return false;
    if (LOOPS.test(parent.type)) return true;
  }
  return false;
}

function isText(node: SyntaxNode, parents: readonly SyntaxNode[], text: string): boolean {
  const parent = parents.at(-1);
  const caller = parent?.type === "arguments" ? field(parents.at(-2)!, "function") : undefined;
  if (caller !== undefined && /^(?:require|import)$/.test(text.slice(caller.start, caller.end))) return false;
  if (/^(?:export_statement|expression_statement|property_signature)$/.test(parent?.type ?? "")) return false;
  return node.field !== "key" && node.field !== "name" && isPlain(text.slice(node.start + 1, node.end - 1));
}

export function proposeEdits(root: SyntaxNode, text: string, propose: Propose): void {
  const statementStarts = new Set<number>();
  const contents: { start: number; end: number }[] = [];
  walk(root, (node, parents) => {
    if (TYPES.test(node.type)) return false;
    const { type, start, end } = node;
    if (type === "expression_statement") statementStarts.add(start);
    // At the start of a statement the text before could run on into it.
    for (const condition of conditions(node))
      if (condition !== undefined && !statementStarts.has(condition.start))
        prefixable(text, "negation", condition, "!", UNARY_LEVEL, propose);
    switch (type) {
      case "binary_expression":
        binary(text, node, parents.at(-1), propose);
        break;
      case "augmented_assignment_expression":
        exchange(text, ASSIGNMENT, field(node, "operator"), propose);
        break;
      case "update_expression":
        exchange(text, [["increment", ["++", "--"]]], field(node, "operator"), propose);
        break;
      case "ternary_expression":
        if (!/\bin\b|=>/.test(text.slice(start, end)))
          swap(text, "ternary", field(node, "consequence")!, field(node, "alternative")!, propose);
        break;
      case "arguments": {
        const list = namedChildren(node);
        for (let i = 1; i < list.length; i++) swap(text, "argument-order", list[i - 1]!, list[i]!, propose);
        break;
      }
      case "return_statement":
        for (const word of ["!", "void "])
          prefixable(text, "return", namedChildren(node)[0], word, BINARY_LEVEL, propose);
        break;
      case "number":
        if (node.field !== "key" && node.field !== "name") integer(text, node, propose);
        break;
      case "true":
      case "false":
        propose("boolean", start, end, type === "true" ? "false" : "true");
        break;
      case "string":
        if (isText(node, parents, text)) contents.push({ start: start + 1, end: end - 1 });
        return false;
      case "regex":
        for (const edit of regularExpressionEdits(text.slice(start, end)))
          propose("regular-expression", start + edit.start, start + edit.end, edit.replacement);
        return false;
      case "break_statement":
      case "continue_statement":
        if (field(node, "label") === undefined && insideLoop(parents))
          exchange(text, [["loop-control", ["break", "continue"]]], node.children[0], propose);
        break;
      case "expression_statement": {
        const own = node.children[0]!;
        if (own.type !== "string" && lines(text, node) <= DROP_LINES)
          propose("dropped-statement", start, end, ";");
        break;
      }
      default:
    }
    return true;
  });
  for (const { node, replacements } of references(root, text))
    for (const name of replacements) propose("variable", node.start, node.end, name);
  strings(text, contents, TYPE_NAMES, propose);
}
