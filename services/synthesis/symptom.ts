/** Symptoms: what a reproduction's two outputs say about a mistake, in words that give no input and no code away. */

export type PrintedKind =
  | "error"
  | "undefined"
  | "null"
  | "boolean"
  | "number"
  | "bigint"
  | "string"
  | "array"
  | "tuple"
  | "object"
  | "function"
  | "other";

/** The kind of value behind one line as a reproduction prints it (`util.inspect` or Python's `repr`, or the first line of an error). */
export function printedKind(text: string): PrintedKind {
  if (/^[A-Za-z_$][\w$]*(Error|Exception)?: /.test(text) || /^\w*Error$/.test(text)) return "error";
  if (text === "undefined" || text === "null") return text;
  if (text === "None") return "undefined";
  if (/^(?:true|false|True|False)$/.test(text)) return "boolean";
  if (/^-?(\d.*|Infinity)n$/.test(text)) return "bigint";
  if (/^(-?(\d|Infinity)|NaN$)/.test(text)) return "number";
  if (/^b?['"`]/.test(text)) return "string";
  if (text.startsWith("[Function") || text.startsWith("[class")) return "function";
  if (/^(\[[^\]]*\] |[\w$]+(\(\d+\))? )?\{/.test(text)) return "object";
  if (/^(\w+\(\d+\) )?\[/.test(text)) return "array";
  if (/^\(.*\)$/.test(text)) return "tuple";
  return "other";
}

const NOUNS: Readonly<Record<PrintedKind, string>> = {
  error: "an error",
  undefined: "nothing",
  null: "null",
  boolean: "a yes-or-no answer",
  number: "a number",
  bigint: "a big integer",
  string: "a string",
  array: "an array",
  tuple: "a tuple",
  object: "an object",
  function: "a function",
  other: "another value",
};

/** One clause without a full stop: `an error comes out where a string is due`. */
export function symptom(actual: string, expected: string): string {
  const got = printedKind(actual);
  const due = printedKind(expected);
  if (due === "error" && got === "error") return "a call is refused with the wrong error";
  if (due === "error") return `a call that must be refused returns ${NOUNS[got]}`;
  if (got === "error") return `a call that must return ${NOUNS[due]} fails with an error`;
  if (got !== due) return `${NOUNS[got]} comes out where ${NOUNS[due]} is due`;
  if (got === "boolean") return `a call answers ${actual} where ${expected} is right`;
  if (got === "array" || got === "tuple" || got === "object" || got === "string") {
    if (actual.length < expected.length) return `part of the result, ${NOUNS[due]}, is missing`;
    if (actual.length > expected.length) return `the result, ${NOUNS[due]}, holds more than it must`;
    return `the content of the result, ${NOUNS[due]}, is wrong`;
  }
  return `the result, ${NOUNS[due]}, is wrong`;
}
