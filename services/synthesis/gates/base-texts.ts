/** Texts of a candidate's base tree. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { textsOf } from "../changes.ts";
import { textOf } from "../checks/files.ts";
import type { Trial } from "./trial.ts";

/** "" for a file that the base tree lacks. */
export function baseTexts({ environment, candidate }: Trial): (path: string) => string {
  const written = textsOf(candidate.base);
  const deleted = new Set(candidate.base.filter(({ kind }) => kind === "delete").map(({ path }) => path));
  return (path) => {
    const text = written.get(path);
    if (text !== undefined) return text;
    return deleted.has(path) || !existsSync(join(environment.root, path)) ? "" : textOf(environment, path);
  };
}
