/** A source as a list of words, names and literals replaced by their kind: what near-duplicates are found by. */
import { type GrammarName, parseTree, type SyntaxNode } from "./grammars.ts";
import { walk } from "./tree.ts";

/** Nodes that are one literal, whatever they are made of. */
const LITERALS: Readonly<Record<string, string>> = {
  string: "<string>",
  string_fragment: "<string>",
  string_content: "<string>",
  interpreted_string_literal: "<string>",
  raw_string_literal: "<string>",
  rune_literal: "<string>",
  regex: "<string>",
  number: "<number>",
  integer: "<number>",
  float: "<number>",
  int_literal: "<number>",
  float_literal: "<number>",
  imaginary_literal: "<number>",
};

function isName(node: SyntaxNode): boolean {
  return /(?:^|_)(?:identifier|identifier_pattern|blank)$/.test(node.type);
}

/** A text that does not parse is split at what is no word: it has words too. */
export function tokensOf(grammar: GrammarName, text: string): readonly string[] {
  const root = parseTree(grammar, text);
  if (root === null) return text.match(/[\p{L}\p{N}_$]+|[^\s\p{L}\p{N}_$]/gu) ?? [];
  const tokens: string[] = [];
  walk(root, (node) => {
    if (node.type === "comment") return false;
    const literal = LITERALS[node.type];
    // A template's or an f-string's expressions are code.
    const whole = !node.children.some((child) => child.type === "interpolation");
    if (literal !== undefined && whole) {
      tokens.push(literal);
      return false;
    }
    if (node.children.length === 0 && node.end > node.start)
      tokens.push(isName(node) ? "<name>" : text.slice(node.start, node.end));
    return true;
  });
  return tokens;
}
