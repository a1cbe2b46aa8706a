/** Turns the schema's complaint about a value into the parts of a `SettingsError`. */
import type { z } from "zod";
import type { SettingsErrorKind } from "./errors.ts";

export type SettingsPath = readonly (string | number)[];

export interface Complaint {
  readonly kind: SettingsErrorKind;
  /** The field; of an unknown key, the key itself. */
  readonly path: SettingsPath;
  readonly expected: string;
  readonly found: string | null;
}

/** The parts of JSON Schema that say which keys an object has. */
export interface KeySchema {
  readonly properties?: Readonly<Record<string, KeySchema>>;
  readonly additionalProperties?: boolean | KeySchema;
  readonly items?: KeySchema;
}

const TYPES: Readonly<Record<string, string>> = {
  int: "a whole number",
  number: "a number",
  string: "a text",
  boolean: "true or false",
  object: "a mapping",
  record: "a mapping",
  array: "a list",
};

/**
 * The first complaint worth telling: unknown keys come first, since a misspelt key often is why another is missing.
 * `schema` is asked for only where a key is unknown.
 */
export function firstComplaint(
  issues: readonly z.core.$ZodIssue[],
  data: unknown,
  schema: () => KeySchema,
): Complaint {
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0]!;
  const path = issue.path.map((part) => (typeof part === "number" ? part : String(part)));
  if (issue.code === "unrecognized_keys") {
    const key = issue.keys[0]!;
    return {
      kind: "unknown-key",
      path: [...path, key],
      expected: knownKeys(key, path, schema()),
      found: key,
    };
  }
  if (issue.code === "custom")
    return { kind: "impossible-value", path, expected: issue.message, found: show(issue.params?.found) };
  const value = valueAt(data, path);
  const kind =
    value === undefined ? "missing" : issue.code === "invalid_type" ? "wrong-type" : "impossible-value";
  // What stands there may be the key itself.
  const isSecret = path.at(-1) === "apiKeyEnv" && typeof value === "string";
  const found = value === undefined ? null : isSecret ? "something else" : show(value);
  return { kind, path, expected: expectation(issue), found };
}

function expectation(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return TYPES[issue.expected] ?? issue.expected;
    case "too_small":
      return issue.origin === "array" || issue.origin === "string"
        ? "a value that is not empty"
        : `a number ${issue.inclusive ? "of at least" : "above"} ${issue.minimum}`;
    case "too_big":
      return `a number ${issue.inclusive ? "of at most" : "below"} ${issue.maximum}`;
    case "invalid_value":
      return `${issue.values.length > 1 ? "one of " : ""}${issue.values.join(", ")}`;
    case "invalid_format":
      return issue.format === "url" ? "a URL" : "a name of letters, digits and _";
    case "invalid_key":
      return "a name of lower-case letters, digits and -";
    default:
      return issue.message;
  }
}

export function valueAt(data: unknown, path: SettingsPath): unknown {
  let value = data;
  for (const part of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<string | number, unknown>)[part];
  }
  return value;
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

function knownKeys(key: string, path: SettingsPath, root: KeySchema): string {
  const keysAt = path.reduce<KeySchema>(child, root);
  const keys = Object.keys(keysAt.properties ?? {});
  const nearest = keys
    .map((known) => ({ known, distance: editDistance(key.slice(0, 60).toLowerCase(), known.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)[0];
  if (nearest && nearest.distance <= Math.max(2, nearest.known.length / 3))
    return `${nearest.known} (the nearest known key)`;
  return `one of ${keys.join(", ")}`;
}

function child({ properties, additionalProperties, items }: KeySchema, part: string | number): KeySchema {
  if (typeof part === "number") return items ?? {};
  return properties?.[part] ?? (typeof additionalProperties === "object" ? additionalProperties : {});
}

/** Levenshtein distance. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, previous[j]! + 1, row[j - 1]! + 1));
    }
    previous = row;
  }
  return previous[b.length]!;
}
