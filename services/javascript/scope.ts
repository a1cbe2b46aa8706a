/** Which variables a function declares, and which of them may stand in for each other. */
import type { AnyNode, Identifier } from "acorn";
import { isFunction, walk } from "./parse.ts";

/** Replacements taken on each side of a name in its function's list of declarations. */
const REACH = 1;

/** Names whose meaning depends on the grammar around them. */
const CONTEXTUAL = new Set([
  "let",
  "async",
  "of",
  "await",
  "yield",
  "static",
  "arguments",
  "eval",
  "undefined",
]);

export interface Reference {
  readonly node: Identifier;
  readonly replacements: readonly string[];
}

function patternNames(pattern: AnyNode, add: (name: string) => void): void {
  switch (pattern.type) {
    case "Identifier":
      add(pattern.name);
      break;
    case "ObjectPattern":
      for (const property of pattern.properties)
        patternNames(property.type === "Property" ? property.value : property, add);
      break;
    case "ArrayPattern":
      for (const element of pattern.elements) if (element !== null) patternNames(element, add);
      break;
    case "RestElement":
      patternNames(pattern.argument, add);
      break;
    case "AssignmentPattern":
      patternNames(pattern.left, add);
      break;
    default:
  }
}

/** True where the identifier is read or assigned: no declaration, property name, label or shorthand. */
function isReference(parent: AnyNode | undefined, key: string): boolean {
  switch (parent?.type) {
    case "MemberExpression":
      return key === "object" || parent.computed;
    case "AssignmentExpression":
      return true;
    case "Property":
      return key === "value" && !parent.shorthand;
    case "VariableDeclarator":
      return key === "init";
    case "AssignmentPattern":
      return key === "right";
    case "PropertyDefinition":
    case "MethodDefinition":
      return key === "value";
    case "ArrowFunctionExpression":
      return key === "body";
    case "FunctionDeclaration":
    case "FunctionExpression":
    case "ClassDeclaration":
    case "ClassExpression":
    case "CatchClause":
    case "LabeledStatement":
    case "BreakStatement":
    case "ContinueStatement":
    case "ImportSpecifier":
    case "ImportDefaultSpecifier":
    case "ImportNamespaceSpecifier":
    case "ExportSpecifier":
    case "ExportAllDeclaration":
    case "ObjectPattern":
    case "ArrayPattern":
    case "RestElement":
    case "MetaProperty":
      return false;
    default:
      return true;
  }
}

/**
 * References to variables with the names that may replace them: the nearest declarations, in order, of the function that
 * declares the variable. Declarations are never edited, so being neighbours is symmetric and survives the edit: every
 * replacement can be undone by another.
 */
export function references(root: AnyNode): Reference[] {
  const declared = new Map<AnyNode, string[]>();
  const found: { node: Identifier; scopes: AnyNode[] }[] = [];
  walk(root, (node, parents, key) => {
    const scopes = parents.filter((parent) => parent === root || isFunction(parent));
    const declare = (scope: AnyNode | undefined) => (name: string) => {
      if (scope === undefined || CONTEXTUAL.has(name)) return;
      const names = declared.get(scope) ?? [];
      if (!names.includes(name)) names.push(name);
      declared.set(scope, names);
    };
    if (isFunction(node)) for (const parameter of node.params) patternNames(parameter, declare(node));
    else if (node.type === "VariableDeclarator") patternNames(node.id, declare(scopes.at(-1)));
    else if (node.type === "Identifier" && isReference(parents.at(-1), key)) found.push({ node, scopes });
  });
  return found.flatMap(({ node, scopes }) => {
    const lists = scopes.map((scope) => declared.get(scope) ?? []);
    const depth = lists.findLastIndex((list) => list.includes(node.name));
    if (depth < 0) return [];
    const names = lists[depth]!;
    const at = names.indexOf(node.name);
    // A name that an inner function declares again means something else here, and no way leads back from it.
    const shadowed = lists.slice(depth + 1).flat();
    const replacements = names
      .slice(Math.max(0, at - REACH), at + REACH + 1)
      .filter((name) => name !== node.name && !shadowed.includes(name));
    return replacements.length === 0 ? [] : [{ node, replacements }];
  });
}
