/** Reads and checks `environments/catalogue.yaml` and the files that pin its entries. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { z } from "zod";
import { type ListedEntry, listedSchema } from "./entry-schema.ts";
import { EnvironmentError } from "./errors.ts";
import { GO_PINS, PinFiles, type Pinned, pinEntry } from "./pin-entry.ts";
import { parseWith, readText } from "./pins.ts";
import { FRAMEWORKS_OF, sourceOf } from "./sources.ts";
import type { CatalogueEntry } from "./types.ts";

/** The bundled catalogue's folder. */
export const CATALOGUE_FOLDER = fileURLToPath(new URL("../../environments/", import.meta.url));

export interface PinnedEntry extends CatalogueEntry, Pinned {
  readonly omit: readonly string[];
}

export interface Catalogue {
  readonly folder: string;
  readonly entries: readonly PinnedEntry[];
}

/** Whose `tools` mean something: whole packages of Node; plugins of pytest. */
const TOOLED: readonly CatalogueEntry["framework"][] = [
  "node-test",
  "mocha",
  "jest",
  "vitest",
  "pytest",
  "command",
];

const catalogueSchema = z.strictObject({ packages: z.array(listedSchema).min(1) });

function duplicate(values: readonly string[]): string | undefined {
  return values.find((value, index) => values.indexOf(value) !== index);
}

/** What the schema of a single field cannot say. */
function checkEntry(where: string, entry: ListedEntry): void {
  const both = entry.sources.find((path) => entry.tests.includes(path));
  if (both !== undefined)
    throw new EnvironmentError("catalogue", `${where}: ${both} is among the sources and the tests`);
  const { kind } = sourceOf(entry);
  if (!FRAMEWORKS_OF[kind].includes(entry.framework))
    throw new EnvironmentError(
      "catalogue",
      `${where}: framework ${entry.framework}: expected one of ${FRAMEWORKS_OF[kind].join(", ")} for ${kind}: sources`,
    );
  if ((entry.framework === "command") !== (entry.test !== undefined))
    throw new EnvironmentError(
      "catalogue",
      `${where}: test: expected with framework command and only there, found framework ${entry.framework}`,
    );
  if (entry.tools !== undefined && !TOOLED.includes(entry.framework))
    throw new EnvironmentError(
      "catalogue",
      `${where}: tools: expected with ${TOOLED.join(", ")} only, found framework ${entry.framework}`,
    );
  if (entry.lock !== undefined && kind === "go")
    throw new EnvironmentError("catalogue", `${where}: lock: a Go module is pinned by ${GO_PINS}`);
}

/** Throws `EnvironmentError("catalogue")`, naming file and field. `folder` holds catalogue.yaml and the files that pin its entries. */
export async function loadCatalogue(folder: string = CATALOGUE_FOLDER): Promise<Catalogue> {
  const file = join(folder, "catalogue.yaml");
  const text = await readText(file);
  const { packages } = parseWith(file, catalogueSchema, () => parse(text));
  const twice = duplicate(packages.map((entry) => entry.name));
  if (twice !== undefined)
    throw new EnvironmentError("catalogue", `${file}: two packages are named ${twice}`);
  const files = new PinFiles(folder);
  const entries: PinnedEntry[] = [];
  for (const [index, entry] of packages.entries()) {
    const where = `${file}: packages.${index}.source (${entry.name})`;
    const pinned = await pinEntry(where, entry, files);
    checkEntry(where, entry);
    entries.push({ ...withoutAbsent(entry), ...pinned });
  }
  return { folder, entries };
}

/** Fields that are not given are absent, not undefined: records of environments are compared by their fields. */
function withoutAbsent<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}

/** The entry of that name; throws `EnvironmentError("unknown")`, naming the known ones. */
export function findEntry(catalogue: Catalogue, name: string): PinnedEntry {
  const entry = catalogue.entries.find((candidate) => candidate.name === name);
  if (entry !== undefined) return entry;
  const known = catalogue.entries.map((candidate) => candidate.name).join(", ");
  throw new EnvironmentError(
    "unknown",
    `unknown package ${JSON.stringify(name)}; the catalogue has ${known}`,
  );
}
