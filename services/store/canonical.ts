/** Comparing JSON values. */
import { canonicalJson } from "../../core/canonical.ts";

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string | undefined {
  return value === undefined ? undefined : canonicalJson(value);
}

/** Paths of the smallest parts in which two JSON values differ, sorted; a list is one part. `[[]]` = the values themselves differ. */
export function differingPaths(left: unknown, right: unknown): string[][] {
  if (!isRecord(left) || !isRecord(right)) return textOf(left) === textOf(right) ? [] : [[]];
  const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])].sort();
  // A key of one side alone may be a name that every object inherits.
  const own = (value: Record<string, unknown>, key: string) =>
    Object.hasOwn(value, key) ? value[key] : undefined;
  return keys.flatMap((key) => differingPaths(own(left, key), own(right, key)).map((path) => [key, ...path]));
}
