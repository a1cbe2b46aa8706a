/** Which variables a function of TypeScript declares, and which of them may stand in for each other. */
import { isFunction } from "./ecmascript.ts";
import { neighbours } from "./edits.ts";
import type { SyntaxNode } from "./grammars.ts";
import { field, walk } from "./tree.ts";

/** Names whose meaning depends on the grammar around them. */
const CONTEXTUAL = new Set(
  (
    "let async of await yield static arguments eval undefined type as satisfies is get set declare namespace module abstract " +
    "readonly infer keyof unique global any number string boolean object symbol never unknown asserts accessor out override"
  ).split(" "),
);

export interface Reference {
  readonly node: SyntaxNode;
  readonly replacements: readonly string[];
}

/** Names that a pattern declares. */
function patternNames(pattern: SyntaxNode | undefined, text: string, add: (name: string) => void): void {
  switch (pattern?.type) {
    case "identifier":
    case "shorthand_property_identifier_pattern":
      add(text.slice(pattern.start, pattern.end));
      break;
    case "required_parameter":
    case "optional_parameter":
      patternNames(field(pattern, "pattern"), text, add);
      break;
    case "pair_pattern":
      patternNames(field(pattern, "value"), text, add);
      break;
    case "assignment_pattern":
    case "object_assignment_pattern":
      patternNames(field(pattern, "left"), text, add);
      break;
    case "object_pattern":
    case "array_pattern":
    case "rest_pattern":
      for (const child of pattern.children) patternNames(child, text, add);
      break;
    default:
  }
}

/** A `for … of` or `for … in` that declares its variable. */
const declares = (node: SyntaxNode) => field(node, "kind") !== undefined;

/** True where the identifier is read or assigned: no declaration, label, type or part of a pattern. */
function isReference(node: SyntaxNode, parent: SyntaxNode | undefined): boolean {
  switch (parent?.type) {
    case "variable_declarator":
    case "required_parameter":
    case "optional_parameter":
    case "public_field_definition":
      return node.field === "value";
    case "assignment_pattern":
    case "object_assignment_pattern":
      return node.field === "right";
    case "for_in_statement":
      return node.field !== "left" || !declares(parent);
    case "arrow_function":
      return node.field === "body";
    case "pair_pattern":
    case "object_pattern":
    case "array_pattern":
    case "rest_pattern":
    case "catch_clause":
    case "class_heritage":
    case "extends_clause":
    case "namespace_export":
    case "export_specifier":
    case "internal_module":
    case "decorator":
    case "type_predicate":
    case "index_signature":
      return false;
    default:
      return node.field !== "name" && !/^jsx_(?!expression)/.test(parent?.type ?? "");
  }
}

const SKIPPED =
  /_type$|^type_(?!assertion)|^(?:interface_declaration|enum_declaration|ambient_declaration|import_statement)$/;

/**
 * References with the names that may replace them: the nearest declarations, in order, of the function that declares the variable.
 * Declarations are never edited, so the list is the same after the edit.
 */
export function references(root: SyntaxNode, text: string): Reference[] {
  const declared = new Map<SyntaxNode, string[]>();
  const found: { node: SyntaxNode; scopes: SyntaxNode[] }[] = [];
  walk(root, (node, parents) => {
    if (SKIPPED.test(node.type)) return false;
    const scopes = () => parents.filter((parent) => parent === root || isFunction(parent));
    const declare = (scope: SyntaxNode) => (name: string) => {
      const names = declared.get(scope) ?? [];
      if (!CONTEXTUAL.has(name) && !names.includes(name)) declared.set(scope, [...names, name]);
    };
    if (isFunction(node)) {
      patternNames(field(node, "parameter"), text, declare(node));
      for (const parameter of field(node, "parameters")?.children ?? [])
        patternNames(parameter, text, declare(node));
    } else if (node.type === "variable_declarator")
      patternNames(field(node, "name"), text, declare(scopes().at(-1)!));
    else if (node.type === "for_in_statement" && declares(node))
      patternNames(field(node, "left"), text, declare(scopes().at(-1)!));
    else if (node.type === "identifier" && isReference(node, parents.at(-1)))
      found.push({ node, scopes: scopes() });
    return true;
  });
  return found.flatMap(({ node, scopes }) => {
    const name = text.slice(node.start, node.end);
    const lists = scopes.map((scope) => declared.get(scope) ?? []);
    const depth = lists.findLastIndex((list) => list.includes(name));
    if (depth < 0) return [];
    // A name that an inner function declares again means something else here, and no way leads back from it.
    const shadowed = lists.slice(depth + 1).flat();
    const replacements = neighbours(lists[depth]!, name).filter((other) => !shadowed.includes(other));
    return replacements.length === 0 ? [] : [{ node, replacements }];
  });
}
