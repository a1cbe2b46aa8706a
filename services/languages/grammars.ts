/**
 * Tree-sitter grammars, and the trees they give. The grammars are loaded once, while this module is imported: whatever is built on
 * them is a plain function.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import treeSitter, { type Parser, type TreeCursor } from "@vscode/tree-sitter-wasm";

const GRAMMARS = ["javascript", "typescript", "tsx", "python", "go"] as const;
export type GrammarName = (typeof GRAMMARS)[number];

/** One node of a syntax tree, free of the parser's memory. */
export interface SyntaxNode {
  readonly type: string;
  /** False for keywords and punctuation, whose type is their text. */
  readonly named: boolean;
  /** The parent's field that holds the node; "" for none. */
  readonly field: string;
  /** UTF-16 offsets. */
  readonly start: number;
  readonly end: number;
  readonly children: readonly SyntaxNode[];
}

const folder = dirname(createRequire(import.meta.url).resolve("@vscode/tree-sitter-wasm"));

async function loadParsers(): Promise<ReadonlyMap<GrammarName, Parser>> {
  await treeSitter.Parser.init();
  const loaded = GRAMMARS.map(async (name) => {
    const grammar = await treeSitter.Language.load(readFileSync(join(folder, `tree-sitter-${name}.wasm`)));
    return [name, new treeSitter.Parser().setLanguage(grammar)] as const;
  });
  return new Map(await Promise.all(loaded));
}

const parsers = await loadParsers();

function copyOf(cursor: TreeCursor): SyntaxNode {
  const children: SyntaxNode[] = [];
  const { nodeType: type, nodeIsNamed: named, startIndex: start, endIndex: end } = cursor;
  const field = cursor.currentFieldName ?? "";
  if (cursor.gotoFirstChild()) {
    do children.push(copyOf(cursor));
    while (cursor.gotoNextSibling());
    cursor.gotoParent();
  }
  return { type, named, field, start, end, children };
}

/** Null when the text has a syntax error. */
export function parseTree(name: GrammarName, text: string): SyntaxNode | null {
  const tree = parsers.get(name)!.parse(text);
  if (tree === null) return null;
  const cursor = tree.walk();
  try {
    return tree.rootNode.hasError ? null : copyOf(cursor);
  } finally {
    cursor.delete();
    tree.delete();
  }
}
