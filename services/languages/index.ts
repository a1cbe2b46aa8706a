/** Languages that tasks are made in: which one a file is written in, and what synthesis asks of it (types.ts). */
import { languageOf } from "./known.ts";

export { applyEdit, innermostFunction, MODULE_FUNCTION } from "../javascript/index.ts";
export { exactTokens, sameProgram } from "./exact-tokens.ts";
export { isCode, languageOf } from "./known.ts";
export { compareFunctions } from "./own-texts.ts";
export type { Language, SourceEdit, SourceFunction } from "./types.ts";

/** The file's words with names and literals as their kind; of an unknown language, its plain words. */
export function normalisedTokens(file: string, text: string): readonly string[] {
  return languageOf(file)?.tokens(text) ?? text.match(/[\p{L}\p{N}_$]+|[^\s\p{L}\p{N}_$]/gu) ?? [];
}
