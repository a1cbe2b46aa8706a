/** Which variables a function of Python binds, and which of them may stand in for each other. */
import { neighbours } from "./edits.ts";
import type { SyntaxNode } from "./grammars.ts";
import { field, walk } from "./tree.ts";

/** Names that are no plain variable everywhere: keywords of old and new, receivers, and the name for nothing. */
const EXCLUDED = ["self", "cls", "_", "match", "case", "type", "print", "exec", "async", "await"];

const FUNCTION = /^(?:function_definition|lambda)$/;
const COMPREHENSION =
  /^(?:list_comprehension|set_comprehension|dictionary_comprehension|generator_expression)$/;

export interface Reference {
  readonly node: SyntaxNode;
  readonly replacements: readonly string[];
}

/** The identifiers that a target or a parameter binds. */
function bound(target: SyntaxNode | undefined): SyntaxNode[] {
  switch (target?.type) {
    case "identifier":
      return [target];
    case "default_parameter":
    case "typed_default_parameter":
      return bound(field(target, "name"));
    case "typed_parameter":
      return bound(target.children[0]);
    case "pattern_list":
    case "tuple_pattern":
    case "list_pattern":
    case "list_splat_pattern":
    case "dictionary_splat_pattern":
    case "as_pattern_target":
      return target.children.flatMap(bound);
    default:
      return [];
  }
}

/** The target of a node that binds names where it stands. */
function targetOf(node: SyntaxNode): SyntaxNode | undefined {
  switch (node.type) {
    case "assignment":
    case "augmented_assignment":
    case "for_statement":
    case "for_in_clause":
      return field(node, "left");
    case "named_expression":
      return field(node, "name");
    case "as_pattern":
      return field(node, "alias");
    default:
      return undefined;
  }
}

/** True where the identifier is no attribute, keyword, name of a definition or import. */
function isRead(node: SyntaxNode, parent: SyntaxNode | undefined): boolean {
  switch (parent?.type) {
    case "attribute":
      return node.field === "object";
    case "keyword_argument":
    case "default_parameter":
    case "typed_default_parameter":
      return node.field === "value";
    case "parameters":
    case "lambda_parameters":
    case "typed_parameter":
    case "list_splat_pattern":
    case "dictionary_splat_pattern":
    case "delete_statement":
    case "global_statement":
    case "nonlocal_statement":
    case "dotted_name":
    case "aliased_import":
    case "type_parameter":
      return false;
    default:
      return node.field !== "name" || parent?.type === "decorator";
  }
}

/** The scopes around a place, outermost first. A default is evaluated outside of its function. */
function scopesOf(parents: readonly SyntaxNode[], node: SyntaxNode): SyntaxNode[] {
  return parents.filter((parent, i) => {
    const child = parents[i + 1] ?? node;
    return (
      i === 0 || COMPREHENSION.test(parent.type) || (FUNCTION.test(parent.type) && child.field === "body")
    );
  });
}

/** What a class body binds is seen by no method, and by nobody after it. */
function inClass(parents: readonly SyntaxNode[]): boolean {
  return (
    parents.findLast((parent) => FUNCTION.test(parent.type) || parent.type === "class_definition")?.type ===
    "class_definition"
  );
}

/**
 * Reads with the names that may replace them: the nearest names, in order, of the function or comprehension that binds the variable.
 * What binds a name is never edited, so the list is the same after the edit.
 */
export function references(root: SyntaxNode, text: string): Reference[] {
  const names = new Map<SyntaxNode, string[]>();
  const excluded = new Set(EXCLUDED);
  const written = new Set<number>();
  const reads: { node: SyntaxNode; scopes: SyntaxNode[] }[] = [];
  const nameOf = (node: SyntaxNode) => text.slice(node.start, node.end);
  const bind = (scope: SyntaxNode, nodes: readonly SyntaxNode[]) => {
    for (const node of nodes) {
      const known = names.get(scope) ?? [];
      if (!known.includes(nameOf(node))) names.set(scope, [...known, nameOf(node)]);
      written.add(node.start);
    }
  };
  walk(root, (node, parents) => {
    if (node.type === "type" || node.type === "case_pattern") return false;
    if (/^(?:global|nonlocal)_statement$/.test(node.type))
      for (const name of node.children) excluded.add(nameOf(name));
    if (FUNCTION.test(node.type)) bind(node, (field(node, "parameters")?.children ?? []).flatMap(bound));
    const target = bound(targetOf(node));
    // An exception's name is gone after its clause; a walrus binds outside of its comprehension.
    const scopes = scopesOf(parents, node).filter(
      ({ type }) => node.type === "for_in_clause" || !COMPREHENSION.test(type),
    );
    if (inClass(parents) || parents.at(-1)?.type === "except_clause")
      for (const each of target) written.add(each.start);
    else bind(scopes.at(-1)!, target);
    if (node.type === "identifier" && isRead(node, parents.at(-1)))
      reads.push({ node, scopes: scopesOf(parents, node) });
    return true;
  });
  return reads.flatMap(({ node, scopes }) => {
    const name = nameOf(node);
    if (written.has(node.start) || excluded.has(name)) return [];
    const lists = scopes.map((scope) => (names.get(scope) ?? []).filter((each) => !excluded.has(each)));
    const depth = lists.findLastIndex((list) => list.includes(name));
    if (depth < 0) return [];
    const shadowed = lists.slice(depth + 1).flat();
    const replacements = neighbours(lists[depth]!, name).filter((other) => !shadowed.includes(other));
    return replacements.length === 0 ? [] : [{ node, replacements }];
  });
}
