/** A language by its tree-sitter grammar: rules look at the tree, everything that is the same for all languages is here. */
import { lineAt, MODULE_FUNCTION } from "../javascript/index.ts";
import { type FunctionRules, functionsOf } from "./functions.ts";
import { type GrammarName, parseTree, type SyntaxNode } from "./grammars.ts";
import { tokensOf } from "./tokens.ts";
import { lineStarts } from "./tree.ts";
import type { Language, LanguageName, SourceEdit, SourceFunction } from "./types.ts";

export type Propose = (operator: string, start: number, end: number, replacement: string) => void;

export interface TreeRules extends FunctionRules {
  readonly name: LanguageName;
  readonly grammar: GrammarName;
  readonly extensions: readonly string[];
  readonly comment: string;
  readonly operators: readonly string[];
  readonly stubs: readonly string[];
  /** Proposes every edit, in any order; where two are the same, the first of `operators` names it. */
  readonly edits: (root: SyntaxNode, text: string, propose: Propose) => void;
  readonly body: (
    text: string,
    source: SourceFunction,
    root: SyntaxNode,
  ) => { readonly start: number; readonly end: number } | null;
}

interface Analysis {
  readonly root: SyntaxNode | null;
  readonly functions: readonly SourceFunction[];
  edits?: readonly SourceEdit[];
}

/** A working set: the sources and mutants of a few packages. */
const CACHE_ENTRIES = 64;

function enumerate(rules: TreeRules, text: string, root: SyntaxNode): SourceEdit[] {
  const starts = lineStarts(text);
  const rank = new Map(rules.operators.map((operator, index) => [operator, index]));
  const found = new Map<string, SourceEdit>();
  rules.edits(root, text, (operator, start, end, replacement) => {
    const key = `${start}:${end}:${replacement}`;
    const known = found.get(key);
    if (known === undefined || rank.get(operator)! < rank.get(known.operator)!)
      found.set(key, { operator, start, end, replacement, line: lineAt(starts, start) });
  });
  return [...found.values()].sort(
    (a, b) =>
      a.start - b.start ||
      a.end - b.end ||
      rank.get(a.operator)! - rank.get(b.operator)! ||
      (a.replacement < b.replacement ? -1 : 1),
  );
}

export function treeLanguage(rules: TreeRules): Language {
  const cache = new Map<string, Analysis>();
  const analysisOf = (text: string): Analysis => {
    let analysis = cache.get(text);
    if (analysis === undefined) {
      const root = parseTree(rules.grammar, text);
      analysis = { root, functions: functionsOf(text, root, lineStarts(text), rules) };
    }
    // A Map keeps insertion order: taking an entry out and in again makes its first key the least recently used.
    cache.delete(text);
    cache.set(text, analysis);
    if (cache.size > CACHE_ENTRIES) cache.delete(cache.keys().next().value!);
    return analysis;
  };
  return {
    name: rules.name,
    extensions: rules.extensions,
    comment: rules.comment,
    operators: rules.operators,
    stubs: rules.stubs,
    parses: (text) => analysisOf(text).root !== null,
    edits: (text) => {
      const analysis = analysisOf(text);
      analysis.edits ??= analysis.root === null ? [] : enumerate(rules, text, analysis.root);
      return analysis.edits;
    },
    functions: (text) => analysisOf(text).functions,
    body: (text, source) => {
      const { root } = analysisOf(text);
      return root === null || source.name === MODULE_FUNCTION ? null : rules.body(text, source, root);
    },
    tokens: (text) => tokensOf(rules.grammar, text),
  };
}
