/** What synthesis asks of a programming language. All of it is synchronous and pure: the same text, the same answer. */

import type { SourceEdit as JavaScriptEdit, SourceFunction } from "../javascript/types.ts";

export type { SourceFunction };

export type LanguageName = "javascript" | "typescript" | "tsx" | "python" | "go";

/** A single edit; `operator` is one of its language's. */
export interface SourceEdit extends Omit<JavaScriptEdit, "operator"> {
  readonly operator: string;
}

export interface Language {
  readonly name: LanguageName;
  /** With the dot. */
  readonly extensions: readonly string[];
  /** What begins a comment that ends with its line. */
  readonly comment: string;
  /** Names of the edit operators, in the order in which generators draw from them. */
  readonly operators: readonly string[];
  /** True for a source that the language's grammar accepts whole. What only a compiler sees (types, unused names) is not asked. */
  parses(text: string): boolean;
  /**
   * Every edit, sorted by (start, end, operator in `operators`' order, replacement); none when the source does not parse. Each
   * edited source parses, and each edit but a dropped statement is undone by an edit of the edited source.
   */
  edits(text: string): readonly SourceEdit[];
  /** Sorted by start, outer before inner; the first is the whole source, `<module>`. */
  functions(text: string): readonly SourceFunction[];
  /**
   * The range of the statements that a stub may stand for, braces and documentation left alone; null where there are none, or
   * where the rest would not compile without them. `source` is one of `functions(text)`.
   */
  body(text: string, source: SourceFunction): { readonly start: number; readonly end: number } | null;
  /** What may stand in a body's place. */
  readonly stubs: readonly string[];
  /** The text's words in order, without comments; names and literals stand as their kind (`<name>`, `<number>`, `<string>`). */
  tokens(text: string): readonly string[];
}
