/** Which functions a change of a tree touches. */
import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { FileChange } from "../../core/task.ts";
import type { Target, Touched } from "../author/index.ts";
import type { PreparedEnvironment } from "../environments/types.ts";
import { compareFunctions, type SourceFunction } from "../languages/index.ts";
import { textsOf } from "./changes.ts";
import { functionKey } from "./split.ts";

/** In the order of the change's files. `change` is of the environment's snapshot. */
export function touchedFunctions(
  { root, entry }: PreparedEnvironment,
  change: readonly FileChange[],
): Touched {
  const texts = textsOf(change);
  const changed: Target[] = [];
  const added: Target[] = [];
  for (const { path } of change) {
    const file = join(root, path);
    const isThere = lstatSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
    const before = isThere ? readFileSync(file, "utf8") : "";
    const found = compareFunctions(path, before, texts.get(path) ?? "");
    const targets = (functions: readonly SourceFunction[]) =>
      functions.map(({ name, startLine }) => ({
        file: path,
        functionName: name,
        line: startLine,
        key: functionKey(entry.name, path, name),
      }));
    (isThere ? changed : added).push(...targets(found.changed));
    added.push(...targets(found.added));
  }
  return { changed, added };
}
