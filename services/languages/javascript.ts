/**
 * JavaScript: edits and functions are those of `services/javascript`, by acorn. The embedded policy chooses among the very same
 * edits, so they stay as they are; only words come from the grammar.
 */
import { enumerateEdits, listFunctions, MODULE_FUNCTION, OPERATORS, parses } from "../javascript/index.ts";
import { tokensOf } from "./tokens.ts";
import type { Language } from "./types.ts";

export const javascript: Language = {
  name: "javascript",
  extensions: [".js", ".cjs", ".mjs"],
  comment: "//",
  operators: OPERATORS,
  parses,
  edits: enumerateEdits,
  functions: listFunctions,
  // An arrow function's expression has no braces, and no statement could stand for it.
  body: (text, { name, bodyStart, bodyEnd }) =>
    name !== MODULE_FUNCTION && text[bodyStart] === "{" && text[bodyEnd - 1] === "}"
      ? { start: bodyStart + 1, end: bodyEnd - 1 }
      : null,
  stubs: [' throw new Error("not implemented"); ', " return undefined; "],
  tokens: (text) => tokensOf("javascript", text),
};
