/** Single edits of JavaScript source (see types.ts): enumerate them, list functions, apply one. */
import { functionsOf } from "./functions.ts";
import { proposeEdits } from "./operators.ts";
import { lineAt, lineStarts, parseSource } from "./parse.ts";
import { OPERATORS, type SourceEdit, type SourceFunction } from "./types.ts";

export { innermostFunction, MODULE_FUNCTION } from "./functions.ts";
export { isFunction, lineAt, parseSource, walk } from "./parse.ts";
export { regularExpressionEdits } from "./regular-expression.ts";
export { OPERATORS, type SourceEdit, type SourceFunction } from "./types.ts";

interface Analysis {
  readonly parses: boolean;
  readonly edits: readonly SourceEdit[];
  readonly functions: readonly SourceFunction[];
}

/** A working set: the sources and mutants of a few packages. */
const CACHE_ENTRIES = 256;
const cache = new Map<string, Analysis>();

function analyse(source: string): Analysis {
  const starts = lineStarts(source);
  const root = parseSource(source);
  const found = new Map<string, SourceEdit>();
  const rank = new Map(OPERATORS.map((operator, index) => [operator, index]));
  if (root !== null)
    proposeEdits(source, root, (operator, start, end, replacement) => {
      const key = `${start}:${end}:${replacement}`;
      const known = found.get(key);
      if (known === undefined || rank.get(operator)! < rank.get(known.operator)!)
        found.set(key, { operator, start, end, replacement, line: lineAt(starts, start) });
    });
  const edits = [...found.values()].sort(
    (a, b) =>
      a.start - b.start ||
      a.end - b.end ||
      rank.get(a.operator)! - rank.get(b.operator)! ||
      (a.replacement < b.replacement ? -1 : 1),
  );
  return { parses: root !== null, edits, functions: functionsOf(source, root, starts) };
}

function analysisOf(source: string): Analysis {
  const analysis = cache.get(source) ?? analyse(source);
  // A Map keeps insertion order: taking an entry out and in again makes its first key the least recently used.
  cache.delete(source);
  cache.set(source, analysis);
  if (cache.size > CACHE_ENTRIES) cache.delete(cache.keys().next().value!);
  return analysis;
}

/** True for a script, a CommonJS module or an ECMAScript module. */
export function parses(source: string): boolean {
  return analysisOf(source).parses;
}

/**
 * Every edit of the source, sorted by (start, end, operator in `OPERATORS`' order, replacement); none when the source does not
 * parse. Each edited source parses, and each edit but a dropped statement is undone by an edit of the edited source.
 */
export function enumerateEdits(source: string): readonly SourceEdit[] {
  return analysisOf(source).edits;
}

/** Sorted by start, outer before inner; the first is the whole source, `<module>`. */
export function listFunctions(source: string): readonly SourceFunction[] {
  return analysisOf(source).functions;
}

export function applyEdit(source: string, edit: Pick<SourceEdit, "start" | "end" | "replacement">): string {
  return source.slice(0, edit.start) + edit.replacement + source.slice(edit.end);
}
