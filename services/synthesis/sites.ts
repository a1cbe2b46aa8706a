/** Where a package can be changed: its functions, the single edits inside them, and the small bodies that can be removed. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { PreparedEnvironment } from "../environments/types.ts";
import {
  enumerateEdits,
  innermostFunction,
  listFunctions,
  MODULE_FUNCTION,
  type Operator,
  type SourceEdit,
  type SourceFunction,
} from "../javascript/index.ts";
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
  readonly source: SourceFunction;
}

export interface SiteIndex {
  readonly sources: ReadonlyMap<string, string>;
  readonly edits: ReadonlyMap<Operator, readonly EditSite[]>;
  readonly functions: readonly FunctionSite[];
}

/** Reads the environment's sources once. The order is that of the catalogue's files, then of the offsets in each. */
export function indexSites(environment: PreparedEnvironment): SiteIndex {
  const sources = new Map<string, string>();
  const edits = new Map<Operator, EditSite[]>();
  const functions: FunctionSite[] = [];
  for (const file of environment.entry.sources) {
    const text = readFileSync(join(environment.root, file), "utf8");
    sources.set(file, text);
    const listed = listFunctions(text);
    const keyOf = (name: string) => functionKey(environment.entry.name, file, name);
    for (const source of listed) functions.push({ file, key: keyOf(source.name), source });
    for (const edit of enumerateEdits(text)) {
      const functionName = innermostFunction(listed, edit.start)?.name ?? MODULE_FUNCTION;
      const site = { file, functionName, key: keyOf(functionName), edit };
      const known = edits.get(edit.operator);
      if (known) known.push(site);
      else edits.set(edit.operator, [site]);
    }
  }
  return { sources, edits, functions };
}
