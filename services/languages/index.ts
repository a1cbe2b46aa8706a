/** Languages that tasks are made in: which one a file is written in, and what synthesis asks of it (types.ts). */
import { extname } from "node:path";
import { go } from "./go.ts";
import { javascript } from "./javascript.ts";
import { python } from "./python.ts";
import type { Language } from "./types.ts";
import { tsx, typescript } from "./typescript.ts";

export { applyEdit, innermostFunction, MODULE_FUNCTION } from "../javascript/index.ts";
export {
  LANGUAGES,
  type Language,
  type LanguageName,
  type SourceEdit,
  type SourceFunction,
} from "./types.ts";

const known: readonly Language[] = [javascript, typescript, tsx, python, go];
const byExtension = new Map(
  known.flatMap((language) => language.extensions.map((extension) => [extension, language] as const)),
);

/** Null for a file of a language that nobody taught us. */
export function languageOf(file: string): Language | null {
  return byExtension.get(extname(file)) ?? null;
}

/** The file's words with names and literals as their kind; of an unknown language, its plain words. */
export function normalisedTokens(file: string, text: string): readonly string[] {
  return languageOf(file)?.tokens(text) ?? text.match(/[\p{L}\p{N}_$]+|[^\s\p{L}\p{N}_$]/gu) ?? [];
}

/** Names that the file defines; none of an unknown language. */
export function symbolsOf(file: string, text: string): readonly string[] {
  return languageOf(file)?.symbols(text) ?? [];
}
