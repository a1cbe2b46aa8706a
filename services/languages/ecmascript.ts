/** What JavaScript and TypeScript share as trees: how functions are named, and what a file defines. */
import type { FunctionRules } from "./functions.ts";
import type { SyntaxNode } from "./grammars.ts";
import { field, namedChildren } from "./tree.ts";

const FUNCTIONS = new Set([
  "function_declaration",
  "function_expression",
  "generator_function_declaration",
  "generator_function",
  "arrow_function",
  "method_definition",
]);

export function isFunction(node: SyntaxNode): boolean {
  return FUNCTIONS.has(node.type);
}

function textOf(node: SyntaxNode | undefined, text: string): string | null {
  switch (node?.type) {
    case "identifier":
    case "property_identifier":
    case "type_identifier":
    case "number":
      return text.slice(node.start, node.end);
    case "private_property_identifier":
      return text.slice(node.start + 1, node.end);
    case "string":
      return text.slice(node.start + 1, node.end - 1);
    case "member_expression":
      return textOf(field(node, "property"), text);
    default:
      return null;
  }
}

/** The name a function gets from where it stands: variable, property, assignment target or default. */
function nameFromPlace(place: SyntaxNode | undefined, text: string): string | null {
  switch (place?.type) {
    case "variable_declarator":
    case "public_field_definition":
    case "field_definition":
      return textOf(field(place, "name") ?? field(place, "property"), text);
    case "assignment_expression":
    case "assignment_pattern":
      return textOf(field(place, "left"), text);
    case "pair":
      return textOf(field(place, "key"), text);
    default:
      return null;
  }
}

export const FUNCTION_RULES: FunctionRules = {
  isFunction,
  nameOf: (node, parents, text) =>
    textOf(field(node, "name"), text) ??
    nameFromPlace(
      parents.findLast((parent) => parent.type !== "parenthesized_expression"),
      text,
    ),
  parameters: (node) => {
    const list = field(node, "parameters");
    const single = field(node, "parameter");
    return list !== undefined ? namedChildren(list) : single !== undefined ? [single] : [];
  },
};
