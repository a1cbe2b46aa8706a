/** Reads an experiment file and its `--set path=value` overrides. */
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument, visit } from "yaml";
import { z } from "zod";
import type { ExperimentSettings } from "../experiment.ts";
import { SettingsError } from "./errors.ts";
import { experimentSchema } from "./experiment.ts";
import { firstComplaint, type KeySchema, type SettingsPath } from "./issues.ts";

/** More than anybody writes; the time to read a text that is made to be slow grows faster than its size. */
const FILE_CHARACTERS = 65_536;
const OVERRIDE_CHARACTERS = 4096;

/** Keys are compared here, not there, where the time grows with the square of their number. Warnings are no affair of the user's. */
const YAML = { prettyErrors: false, uniqueKeys: false, logLevel: "error" } as const;

/** JSON Schema (draft 7) of an experiment file: fields with a default are optional. */
export function experimentJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(experimentSchema, { io: "input", target: "draft-7" }) as Record<string, unknown>;
}

/** Settings of an experiment file, defaults filled in: plain JSON data. Throws `SettingsError`. */
export function parseExperimentFile(text: string, fileName: string): ExperimentSettings {
  const fail = (found: string, line: number | null) =>
    new SettingsError("syntax", { file: fileName, field: "", expected: "one YAML document", found, line });
  if (text.length > FILE_CHARACTERS)
    throw fail(`${text.length} characters are more than ${FILE_CHARACTERS}`, null);
  const lines = new LineCounter();
  const document = parseDocument(text, { ...YAML, lineCounter: lines });
  const [error] = document.errors;
  if (error?.code === "MULTIPLE_DOCS")
    throw fail("a second document starts", lines.linePos(error.pos[0]).line);
  if (error) throw fail(said(error), lines.linePos(error.pos[0]).line);
  const twice = repeatedKey(document);
  if (twice !== null) throw fail("Map keys must be unique", lines.linePos(twice).line);
  const data = plainData(document);
  if (data instanceof Error) throw fail(data.message, null);
  return check(data, fileName, (path) => {
    const offset = offsetOf(document, path);
    return offset === null ? null : lines.linePos(offset).line;
  });
}

/**
 * Settings with `path=value` overrides applied in order and checked again as a whole; `path` is dotted and `value` is
 * YAML: `climb.updates=4`, `filter.band={low: 0.25, high: 0.75}`, `overrides.0.fromIteration=2`. `flag` is how the user gave them, for
 * messages. Throws `SettingsError`.
 */
export function applyOverrides(
  settings: ExperimentSettings,
  overrides: readonly string[],
  flag = "--set",
): ExperimentSettings {
  if (overrides.length === 0) return settings;
  const data: unknown = structuredClone(settings);
  for (const override of overrides) assign(data, override, flag);
  return check(data, `${flag} ${overrides.join(" ")}`, () => null);
}

function check(
  data: unknown,
  file: string,
  lineOf: (path: SettingsPath) => number | null,
): ExperimentSettings {
  const result = experimentSchema.safeParse(data);
  // As JSON has it: no −0, which the record could not keep.
  if (result.success) return JSON.parse(JSON.stringify(result.data)) as ExperimentSettings;
  const { kind, path, expected, found } = firstComplaint(
    result.error.issues,
    data,
    () => experimentJsonSchema() as KeySchema,
  );
  throw new SettingsError(kind, { file, field: path.join("."), expected, found, line: lineOf(path) });
}

function assign(data: unknown, override: string, flag: string): void {
  const fail = (kind: "syntax" | "unknown-key", field: string, expected: string, found: string) =>
    new SettingsError(kind, { file: `${flag} ${override}`, field, expected, found, line: null });
  const equals = override.indexOf("=");
  const path = override.slice(0, Math.max(0, equals)).split(".");
  if (equals < 1 || !path.every((part) => /^[A-Za-z0-9-]+$/.test(part)))
    throw fail("syntax", "", "path=value, as in climb.updates=4", `"${override}" is no assignment`);
  if (override.length > OVERRIDE_CHARACTERS)
    throw fail("syntax", path.join("."), "a YAML value", `more than ${OVERRIDE_CHARACTERS} characters`);
  const document = parseDocument(override.slice(equals + 1), YAML);
  const [error] = document.errors;
  const value = error ?? plainData(document);
  if (value instanceof Error) throw fail("syntax", path.join("."), "a YAML value", said(value));
  if (repeatedKey(document) !== null)
    throw fail("syntax", path.join("."), "a YAML value", "Map keys must be unique");

  let target = data;
  for (const [depth, part] of path.entries()) {
    if (typeof target !== "object" || target === null)
      throw fail("unknown-key", path.slice(0, depth + 1).join("."), "a field that exists", part);
    const fields = target as Record<string, unknown>;
    if (depth === path.length - 1) fields[part] = value;
    // A new entry, such as a further task set; the schema tells whether it may be there.
    else fields[part] ??= {};
    target = fields[part];
  }
}

/** What the parser says, in words of the text and not of the program. */
function said({ message }: Error): string {
  return /call stack/i.test(message) ? "values nested too deep" : message;
}

/** Where a key stands that its mapping has already; null where there is none. */
function repeatedKey(document: Document): number | null {
  let found: number | null = null;
  visit(document, {
    Map(_, { items }) {
      const seen = new Set<string>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const name = String(key.value);
        if (seen.has(name) && name !== "<<") {
          found = key.range?.[0] ?? 0;
          return visit.BREAK;
        }
        seen.add(name);
      }
      return undefined;
    },
  });
  return found;
}

/** The document's data, or why it has none: an alias without anchor, too many aliases, or data that contains itself. */
function plainData(document: Document): unknown {
  try {
    const data: unknown = document.toJS();
    JSON.stringify(data);
    return data;
  } catch (error) {
    return error instanceof ReferenceError ? error : new Error("an alias refers to what contains it");
  }
}

/** Where a field stands in the text: its key, or that of the nearest enclosing field that is there. */
function offsetOf(document: Document, path: SettingsPath): number | null {
  for (let depth = path.length; depth > 0; depth--) {
    const parent = depth === 1 ? document.contents : document.getIn(path.slice(0, depth - 1), true);
    const last = path[depth - 1];
    if (isMap(parent)) {
      const pair = parent.items.find(({ key }) => String(key) === String(last));
      if (pair && isNode(pair.key) && pair.key.range) return pair.key.range[0];
    } else {
      const node = document.getIn(path.slice(0, depth), true);
      if (isNode(node) && node.range) return node.range[0];
    }
  }
  return null;
}
