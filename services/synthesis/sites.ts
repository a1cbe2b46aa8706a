/** Where a package can be changed: its functions, the single edits inside them, and the small bodies that can be removed. */
import { readFileSync } from "node:fs";
import { extname, join } from "node:path";
import type { PreparedEnvironment } from "../environments/types.ts";
import {
  innermostFunction,
  type Language,
  languageOf,
  MODULE_FUNCTION,
  type SourceEdit,
  type SourceFunction,
} from "../languages/index.ts";
import { functionKey } from "./split.ts";

export interface EditSite {
  readonly file: string;
  readonly functionName: string;
  readonly key: string;
  readonly edit: SourceEdit;
}

export interface FunctionSite {
  readonly file: string;
  readonly key: string;
  readonly language: Language;
  readonly source: SourceFunction;
}

export interface SiteIndex {
  readonly sources: ReadonlyMap<string, string>;
  /** By operator, in the order in which the languages of the sources list them. */
  readonly edits: ReadonlyMap<string, readonly EditSite[]>;
  readonly functions: readonly FunctionSite[];
  /** Sources in a language that has no operators here. */
  readonly unknown: readonly string[];
}

/** Reads the environment's sources once. The order is that of the catalogue's files, then of the offsets in each. */
export function indexSites(environment: PreparedEnvironment): SiteIndex {
  const sources = new Map<string, string>();
  const edits = new Map<string, EditSite[]>();
  const functions: FunctionSite[] = [];
  const unknown: string[] = [];
  for (const file of environment.entry.sources) {
    const language = languageOf(file);
    if (language === null) {
      unknown.push(file);
      continue;
    }
    const text = readFileSync(join(environment.root, file), "utf8");
    sources.set(file, text);
    const listed = language.functions(text);
    const keyOf = (name: string) => functionKey(environment.entry.name, file, name);
    for (const source of listed) functions.push({ file, key: keyOf(source.name), language, source });
    for (const operator of language.operators) if (!edits.has(operator)) edits.set(operator, []);
    for (const edit of language.edits(text)) {
      const functionName = innermostFunction(listed, edit.start)?.name ?? MODULE_FUNCTION;
      edits.get(edit.operator)!.push({ file, functionName, key: keyOf(functionName), edit });
    }
  }
  return { sources, edits: new Map([...edits].filter(([, sites]) => sites.length > 0)), functions, unknown };
}

/** Why a generator found no place; a language that is missing is said so, or it would look like a package that is too small. */
export function noSite(index: SiteIndex, otherwise: string): { readonly none: string } {
  const kinds = [...new Set(index.unknown.map((file) => extname(file) || file))].sort();
  if (kinds.length === 0) return { none: otherwise };
  return { none: `${otherwise} (no language is known for ${kinds.join(", ")})` };
}
