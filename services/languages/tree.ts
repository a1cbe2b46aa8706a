/** Small questions to a syntax tree. */
import type { SyntaxNode } from "./grammars.ts";

/** False = do not look at the node's children. */
export type Visit = (node: SyntaxNode, parents: readonly SyntaxNode[]) => boolean | undefined;

/** Calls `visit` before a node's children. `parents` is re-used: copy what must stay. */
export function walk(root: SyntaxNode, visit: Visit): void {
  const parents: SyntaxNode[] = [];
  const step = (node: SyntaxNode): void => {
    if (visit(node, parents) === false) return;
    parents.push(node);
    for (const child of node.children) step(child);
    parents.pop();
  };
  step(root);
}

export function field(node: SyntaxNode, name: string): SyntaxNode | undefined {
  return node.children.find((child) => child.field === name);
}

/** Children that are no punctuation and no comment. */
export function namedChildren(node: SyntaxNode): readonly SyntaxNode[] {
  return node.children.filter((child) => child.named && child.type !== "comment");
}

/** Offsets at which each line starts. Lines end as the sandbox's tools count them: LF, CRLF or CR. */
export function lineStarts(text: string): number[] {
  const starts = [0];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 13 && text.charCodeAt(i + 1) === 10) continue;
    if (code === 10 || code === 13) starts.push(i + 1);
  }
  return starts;
}
