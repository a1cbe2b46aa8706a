/** Parsing with acorn, and the one walk over a syntax tree that everything else here is built on. */
import { type AnyNode, type Options, parse } from "acorn";

const OPTIONS: Options = {
  ecmaVersion: "latest",
  allowHashBang: true,
  allowReturnOutsideFunction: true,
  // Parentheses as nodes: "the text between two operands" then holds nothing but the operator, blanks and comments.
  preserveParens: true,
};

/** Null when the source is neither a script (or CommonJS module) nor an ECMAScript module. */
export function parseSource(source: string): AnyNode | null {
  for (const sourceType of ["script", "module"] as const) {
    try {
      return parse(source, { ...OPTIONS, sourceType });
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  return null;
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === "object" && value !== null && typeof (value as AnyNode).type === "string";
}

/** `key` is the parent's property that holds the node. */
export type Visit = (node: AnyNode, parents: readonly AnyNode[], key: string) => void;

/** Calls `visit` before a node's children, in the order of the tree's own keys. `parents` is re-used: copy what must stay. */
export function walk(root: AnyNode, visit: Visit): void {
  const parents: AnyNode[] = [];
  const step = (node: AnyNode, key: string): void => {
    visit(node, parents, key);
    parents.push(node);
    for (const [name, value] of Object.entries(node)) {
      if (Array.isArray(value)) {
        for (const item of value) if (isNode(item)) step(item, name);
      } else if (isNode(value)) step(value, name);
    }
    parents.pop();
  };
  step(root, "");
}

/** Offsets at which each line starts. Line terminators are JavaScript's: LF, CRLF, CR, U+2028 and U+2029. */
export function lineStarts(source: string): number[] {
  const starts = [0];
  for (let i = 0; i < source.length; i++) {
    const code = source.charCodeAt(i);
    if (code === 13 && source.charCodeAt(i + 1) === 10) continue;
    if (code === 10 || code === 13 || code === 0x2028 || code === 0x2029) starts.push(i + 1);
  }
  return starts;
}

/** 1-based line of an offset. */
export function lineAt(starts: readonly number[], offset: number): number {
  let low = 0;
  let high = starts.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (starts[middle]! <= offset) low = middle;
    else high = middle;
  }
  return low + 1;
}

export function isFunction(
  node: AnyNode,
): node is Extract<
  AnyNode,
  { type: "FunctionDeclaration" | "FunctionExpression" | "ArrowFunctionExpression" }
> {
  return (
    node.type === "FunctionDeclaration" ||
    node.type === "FunctionExpression" ||
    node.type === "ArrowFunctionExpression"
  );
}
