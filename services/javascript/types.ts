/** Single edits of JavaScript source: what a mutation inserts and what a repair policy can undo. */

export const OPERATORS = [
  "comparison",
  "equality",
  "arithmetic",
  "logical",
  "negation",
  "constant",
  "boolean",
  "return",
  "argument-order",
  "variable",
  "string",
  "ternary",
  "increment",
  "regular-expression",
  "loop-control",
  "dropped-statement",
] as const;
export type Operator = (typeof OPERATORS)[number];

export interface SourceEdit {
  readonly operator: Operator;
  /** UTF-16 offsets of the replaced range [start, end). */
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  /** 1-based line of `start`. */
  readonly line: number;
}

export interface SourceFunction {
  /** Its own or its variable's or property's name; `<anonymous>:<line>` without one, `<module>` for top-level code. */
  readonly name: string;
  readonly start: number;
  readonly end: number;
  /** The body, with its braces where there are any: an arrow function's may be an expression, and Python has none. */
  readonly bodyStart: number;
  readonly bodyEnd: number;
  readonly startLine: number;
  readonly endLine: number;
  /** Source text of each. */
  readonly parameters: readonly string[];
}
