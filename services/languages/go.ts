/** Go. */

import { OPERATORS, proposeEdits } from "./go-edits.ts";
import { isFunction } from "./go-scope.ts";
import type { SyntaxNode } from "./grammars.ts";
import { field, namedChildren, walk } from "./tree.ts";
import { treeLanguage } from "./tree-language.ts";

/** The name a file calls an imported package by. */
function packageName(spec: SyntaxNode, text: string): string {
  const name = field(spec, "name");
  if (name !== undefined) return text.slice(name.start, name.end);
  const path = text.slice(field(spec, "path")!.start + 1, field(spec, "path")!.end - 1);
  const parts = path.split("/").filter((part) => !/^v\d+$/.test(part));
  return parts.at(-1) ?? path;
}

/** A package that is imported and not used is an error: what stands for the body must leave no import without its use. */
function keepsImports(root: SyntaxNode, text: string, start: number, end: number): boolean {
  const imported = new Set<string>();
  const inside = new Set<string>();
  const outside = new Set<string>();
  walk(root, (node) => {
    if (node.type === "import_spec") imported.add(packageName(node, text));
    if (node.type !== "identifier" && node.type !== "package_identifier") return node.type !== "import_spec";
    const name = text.slice(node.start, node.end);
    (node.start >= start && node.end <= end ? inside : outside).add(name);
    return false;
  });
  return [...inside].every((name) => !imported.has(name) || outside.has(name));
}

export const go = treeLanguage({
  name: "go",
  grammar: "go",
  extensions: [".go"],
  comment: "//",
  operators: OPERATORS,
  stubs: [' panic("not implemented") '],
  isFunction,
  nameOf: (node, parents, text) => {
    const name = field(node, "name");
    if (name !== undefined) return text.slice(name.start, name.end);
    const place = parents.at(-2);
    const names = place?.type === "short_var_declaration" ? field(place, "left") : undefined;
    const [only, ...others] = names === undefined ? [] : namedChildren(names);
    return only !== undefined && others.length === 0 ? text.slice(only.start, only.end) : null;
  },
  parameters: (node) => namedChildren(field(node, "parameters")!),
  edits: proposeEdits,
  body: (text, { bodyStart, bodyEnd }, root) => {
    const range = { start: bodyStart + 1, end: bodyEnd - 1 };
    return keepsImports(root, text, range.start, range.end) ? range : null;
  },
});
