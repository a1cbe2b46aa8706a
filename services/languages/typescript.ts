/** TypeScript, with and without JSX. */
import { FUNCTION_RULES } from "./ecmascript.ts";
import { type TreeRules, treeLanguage } from "./tree-language.ts";
import { OPERATORS, proposeEdits } from "./typescript-edits.ts";

const rules: Omit<TreeRules, "name" | "grammar" | "extensions"> = {
  ...FUNCTION_RULES,
  comment: "//",
  operators: OPERATORS,
  stubs: [' throw new Error("not implemented"); '],
  edits: proposeEdits,
  body: (text, { bodyStart, bodyEnd }) =>
    text[bodyStart] === "{" ? { start: bodyStart + 1, end: bodyEnd - 1 } : null,
};

export const typescript = treeLanguage({
  ...rules,
  name: "typescript",
  grammar: "typescript",
  extensions: [".ts", ".mts", ".cts"],
});
/** Another grammar: `<T>x` is an element here and a type assertion there. */
export const tsx = treeLanguage({ ...rules, name: "tsx", grammar: "tsx", extensions: [".tsx", ".jsx"] });
