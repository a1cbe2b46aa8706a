/** The functions of a syntax tree, under the names a reader would call them. */
import { lineAt, MODULE_FUNCTION } from "../javascript/index.ts";
import type { SyntaxNode } from "./grammars.ts";
import { field, walk } from "./tree.ts";
import type { SourceFunction } from "./types.ts";

export interface FunctionRules {
  readonly isFunction: (node: SyntaxNode) => boolean;
  /** Null for a function without a name. */
  readonly nameOf: (node: SyntaxNode, parents: readonly SyntaxNode[], text: string) => string | null;
  /** The parameters' nodes. */
  readonly parameters: (node: SyntaxNode) => readonly SyntaxNode[];
}

export function functionsOf(
  text: string,
  root: SyntaxNode | null,
  starts: readonly number[],
  rules: FunctionRules,
): SourceFunction[] {
  const end = text.length;
  const whole = { name: MODULE_FUNCTION, start: 0, end, bodyStart: 0, bodyEnd: end };
  const functions: SourceFunction[] = [
    { ...whole, startLine: 1, endLine: lineAt(starts, end), parameters: [] },
  ];
  if (root === null) return functions;
  walk(root, (node, parents) => {
    const body = rules.isFunction(node) ? field(node, "body") : undefined;
    if (body === undefined) return;
    const startLine = lineAt(starts, node.start);
    functions.push({
      name: rules.nameOf(node, parents, text) ?? `<anonymous>:${startLine}`,
      start: node.start,
      end: node.end,
      bodyStart: body.start,
      bodyEnd: body.end,
      startLine,
      endLine: lineAt(starts, node.end),
      parameters: rules.parameters(node).map((each) => text.slice(each.start, each.end)),
    });
  });
  return functions.sort((a, b) => a.start - b.start || b.end - a.end);
}
