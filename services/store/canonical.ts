/** JSON in one spelling: what two values are compared and hashed by. */
import { createHash } from "node:crypto";

/** JSON text with the keys of every object sorted by code unit; `undefined` members are left out, as JSON.stringify does. */
export function canonicalJson(value: unknown): string {
  return (
    JSON.stringify(value, (_key, member: unknown) =>
      typeof member === "object" && member !== null && !Array.isArray(member)
        ? Object.fromEntries(
            Object.entries(member).sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0)),
          )
        : member,
    ) ?? "null"
  );
}

/** sha256 of the canonical JSON, hex. */
export function hashJson(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Paths of the smallest parts in which two JSON values differ, sorted; lists are one part. `[[]]` when the values themselves differ. */
export function differingPaths(left: unknown, right: unknown): string[][] {
  if (!isRecord(left) || !isRecord(right)) return canonicalJson(left) === canonicalJson(right) ? [] : [[]];
  const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])].sort();
  return keys.flatMap((key) => differingPaths(left[key], right[key]).map((path) => [key, ...path]));
}
