/** Python. */
import type { SyntaxNode } from "./grammars.ts";
import { OPERATORS, proposeEdits } from "./python-edits.ts";
import { field, namedChildren, walk } from "./tree.ts";
import { treeLanguage } from "./tree-language.ts";

const isFunction = (node: SyntaxNode) => node.type === "function_definition" || node.type === "lambda";

/** The first statement after the documentation, if any, to the last. */
function statementsOf(root: SyntaxNode, bodyStart: number): { start: number; end: number } | null {
  let found: { start: number; end: number } | null = null;
  walk(root, (node) => {
    if (node.type === "block" && node.start === bodyStart) {
      const statements = namedChildren(node);
      const documented =
        statements[0]?.type === "expression_statement" && statements[0].children[0]?.type === "string";
      const first = statements[documented ? 1 : 0];
      if (first !== undefined) found = { start: first.start, end: statements.at(-1)!.end };
    }
    return node.start <= bodyStart && bodyStart < node.end;
  });
  return found;
}

export const python = treeLanguage({
  name: "python",
  grammar: "python",
  extensions: [".py"],
  comment: "#",
  operators: OPERATORS,
  stubs: ["raise NotImplementedError", "return None"],
  isFunction,
  nameOf: (node, parents, text) => {
    const name = field(node, "name");
    const place = parents.at(-1);
    const target = place?.type === "assignment" ? field(place, "left") : undefined;
    const named = name ?? (target?.type === "identifier" ? target : undefined);
    return named === undefined ? null : text.slice(named.start, named.end);
  },
  parameters: (node) => namedChildren(field(node, "parameters") ?? { ...node, children: [] }),
  edits: proposeEdits,
  body: (_text, { bodyStart }, root) => statementsOf(root, bodyStart),
});
