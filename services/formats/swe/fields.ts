/** Fields that the rows of the SWE-bench family share, and what is said of a row that has others. */
import { z } from "zod";
import { DiffError, parseDiff, pathsOf, reverseDiff } from "../diff/index.ts";
import { describe, type Row } from "../rows/index.ts";
import { ImportError } from "../types.ts";

const NAMES = "a list of names, or the same as JSON in a text";

/** A list of test names, or the same as JSON in a text. */
export const testNames = z
  .union([z.array(z.string()), z.string()], NAMES)
  .transform((value, context): string[] => {
    if (typeof value !== "string") return value;
    try {
      return z.array(z.string()).parse(JSON.parse(value));
    } catch {
      context.addIssue({ code: "custom", message: NAMES });
      return z.NEVER;
    }
  });

/** Absent, null and "" are all the same here: tables have a column for every field. */
export const optionalText = z
  .string()
  .nullish()
  .transform((value) => (value == null || value.trim() === "" ? null : value));

export const text = z.string().refine((value) => value.trim() !== "", "text that is not empty");

/** What a schema expects, in words. */
function expectation(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_type") return issue.expected === "string" ? "text" : `${issue.expected}`;
  return issue.message;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value;
  for (const key of path) found = (found as Record<PropertyKey, unknown> | undefined | null)?.[key];
  return found;
}

/** The row's value as the schema has it; unknown fields are left out. Throws ImportError `field` for the first that is wrong. */
export function readFields<T>(row: Row, schema: z.ZodType<T>): T {
  const found = schema.safeParse(row.value);
  if (found.success) return checkedText(row, found.data);
  const [issue] = found.error.issues;
  const path = issue!.path;
  const at = { ...row.at, field: path.length === 0 ? null : path.join(".") };
  throw new ImportError("field", at, expectation(issue!), describe(valueAt(row.value, path)));
}

/** Files may have any character in them; what is kept, run or shown may not. */
const CHANGES: readonly string[] = ["patch", "test_patch", "parsed_commit_content"];

/** Throws ImportError `field` for characters that neither a database nor UTF-8 has. An id is held to more, by whoever imports. */
export function checkedText<T>(row: Row, fields: T, at: readonly string[] = []): T {
  const visit = (value: unknown, path: readonly string[]): void => {
    if (path[0] === "instance_id") return;
    if (typeof value === "string") {
      const found = foundIn(value, CHANGES.includes(path[0] ?? ""));
      if (found !== null) throw new ImportError("field", { ...row.at, field: path.join(".") }, "text", found);
    } else if (typeof value === "object" && value !== null)
      for (const [key, inner] of Object.entries(value)) {
        visit(key, path);
        visit(inner, [...path, key]);
      }
  };
  visit(fields, at);
  return fields;
}

function foundIn(value: string, isChange: boolean): string | null {
  if (!value.isWellFormed()) return "half a character (a lone surrogate)";
  return !isChange && value.includes("\0") ? "the control character NUL" : null;
}

/** Whether a diff can be read, and where it says to reverse it reversed: told at the import, not when the tree is there. */
export function checkDiff(row: Row, field: string, diff: string, reverse = false): readonly string[] {
  try {
    const patches = parseDiff(diff);
    return pathsOf(reverse ? reverseDiff(patches) : patches);
  } catch (error) {
    if (!(error instanceof DiffError)) throw error;
    const kind = error.kind === "unsupported" ? "unsupported" : "field";
    throw new ImportError(kind, { ...row.at, field }, "a diff as git writes it", error.message, {
      cause: error,
    });
  }
}

/** Runs `read`; what it refuses is a result. */
export function resultOf<T>(read: () => T): { readonly task: T } | { readonly error: ImportError } {
  try {
    return { task: read() };
  } catch (error) {
    if (error instanceof ImportError) return { error };
    throw error;
  }
}
