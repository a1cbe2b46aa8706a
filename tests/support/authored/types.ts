/**
 * Hand-made tasks on packages of the catalogue, three of each type, as an author would deliver them: text, reference solution, hidden
 * tests, and a check where the type asks for one. `base` is what is done to the package first; absent = it is taken as it is.
 * They pass the gates (tests/integration/gates-authored.test.ts shows the quick ones); what is no task is made from them by changing one part.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { composeChanges } from "../../../core/changes.ts";
import type { AuthoredText, FileChange, TaskType, TypeCheck } from "../../../core/task.ts";
import type { PreparedEnvironment } from "../../../services/environments/index.ts";
import { writeText } from "../../../services/synthesis/changes.ts";
import type { Candidate } from "../../../services/synthesis/index.ts";

/** `from`, which stands once in the file, becomes `to`; or the whole file. */
export type Edit =
  | { readonly path: string; readonly from: string; readonly to: string }
  | { readonly path: string; readonly content: string };

export interface Authored {
  readonly name: string;
  /** The package's short name in the catalogue. */
  readonly environment: string;
  readonly type: TaskType;
  readonly text: AuthoredText;
  readonly base?: readonly Edit[];
  /** On the base tree. */
  readonly gold: readonly Edit[];
  readonly tests?: readonly FileChange[];
  readonly check?: TypeCheck;
  /** Where the work is. */
  readonly site: { readonly file: string; readonly functionName: string; readonly line: number };
}

export const file = writeText;

type Root = Pick<PreparedEnvironment, "root">;

/** The edits as changes of whole files, after the changes that are there already. */
export function changesOf(
  { root }: Root,
  edits: readonly Edit[],
  before: readonly FileChange[] = [],
): FileChange[] {
  const texts = new Map<string, string>();
  for (const edit of edits) {
    const known = before.find(({ path }) => path === edit.path);
    const text =
      texts.get(edit.path) ??
      (known?.kind === "write"
        ? known.content
        : existsSync(join(root, edit.path))
          ? read(root, edit.path)
          : "");
    if ("content" in edit) texts.set(edit.path, edit.content);
    else {
      if (text.split(edit.from).length !== 2)
        throw new Error(
          `${edit.path}: expected once, found ${text.split(edit.from).length - 1} times: ${edit.from}`,
        );
      texts.set(
        edit.path,
        text.replace(edit.from, () => edit.to),
      );
    }
  }
  return composeChanges(
    [],
    [...texts].map(([path, text]) => file(path, text)),
  );
}

const read = (root: string, path: string): string => readFileSync(join(root, path), "utf8");

export function candidateOf(environment: PreparedEnvironment, authored: Authored): Candidate {
  const { type, text, tests, check, site } = authored;
  const base = changesOf(environment, authored.base ?? []);
  return {
    ...{ type, generator: "llm", base, gold: changesOf(environment, authored.gold, base) },
    sites: [{ ...site, operator: type }],
    functions: [`${authored.environment}#${site.file}#${site.functionName}`],
    text,
    ...(tests && { tests }),
    ...(check && { check }),
  };
}
