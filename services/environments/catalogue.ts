/** Reads and checks `environments/catalogue.yaml` and the files that pin its entries. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { z } from "zod";
import { REPORT_FORMATS } from "../../core/task.ts";
import { EnvironmentError } from "./errors.ts";
import {
  type NpmLock,
  normalName,
  parseGoSum,
  parseRequirements,
  parseWith,
  readNpmLock,
  readText,
} from "./pins.ts";
import { type CatalogueEntry, FRAMEWORKS } from "./types.ts";

/** The bundled catalogue's folder. */
export const CATALOGUE_FOLDER = fileURLToPath(new URL("../../environments/", import.meta.url));

/** sdists under test; and, by an entry's `lock`, the wheels its tests need. */
export const PYTHON_PINS = "python";
export const PYTHON_SOURCES = "sources.txt";
export const GO_PINS = "go/go.sum";

/** Wheels of test tools where the entry names no others. */
const DEFAULT_WHEELS: Partial<Record<CatalogueEntry["framework"], string>> = { pytest: "pytest" };

/** Where an entry's files come from, pinned. */
export type Pins =
  | { readonly kind: "npm"; readonly lock: NpmLock }
  | { readonly kind: "pypi"; readonly wheels: string | null }
  | { readonly kind: "go" };

export interface PinnedEntry extends CatalogueEntry {
  readonly omit: readonly string[];
  /** The registry's name of the package; `name` is the catalogue's own. */
  readonly packageName: string;
  readonly version: string;
  /** npm: subresource integrity of the tarball; PyPI: `sha256:<hex>` of the sdist; Go: `h1:…` of the module. */
  readonly integrity: string;
  readonly pins: Pins;
}

export interface Catalogue {
  readonly folder: string;
  readonly entries: readonly PinnedEntry[];
}

const relativePath = z
  .string()
  .regex(
    /^(?!\/)(?!.*(^|\/)\.{1,2}(\/|$))(?!.*\/\/)[^\\]+[^/\\]$/,
    "expected a path inside the package, without .. and with /",
  );

/** One expression for each kind of source; groups: name, version. */
const SOURCES = {
  npm: /^npm:((?:@[a-z0-9._-]+\/)?[a-z0-9._-]+)@(\d+\.\d+\.\d+(?:-[0-9a-z.-]+)?)$/i,
  pypi: /^pypi:([a-z0-9](?:[a-z0-9._-]*[a-z0-9])?)==([a-z0-9][a-z0-9.!+_-]*)$/i,
  go: /^go:([a-z0-9.-]+\.[a-z]+(?:\/[\w.~-]+)*)@v(\d+\.\d+\.\d+(?:[-+][0-9a-z.+-]+)?)$/i,
} as const;

type SourceKind = keyof typeof SOURCES;

const SOURCE_HINT =
  "expected npm:<package>@<exact version>, pypi:<project>==<version> or go:<module>@v<version>";

const LANGUAGES: Record<SourceKind, readonly CatalogueEntry["framework"][]> = {
  npm: ["tape", "node-test", "mocha", "jest", "vitest", "command"],
  pypi: ["pytest", "unittest", "command"],
  go: ["go-test", "command"],
};

/** Whose `tools` mean something: whole packages of Node; plugins of pytest. */
const TOOLED: readonly CatalogueEntry["framework"][] = [
  "node-test",
  "mocha",
  "jest",
  "vitest",
  "pytest",
  "command",
];

const limit = z.int().positive();

const entrySchema = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]*$/, "expected lower-case letters, digits and hyphens"),
  source: z
    .string()
    .refine((source) => Object.values(SOURCES).some((pattern) => pattern.test(source)), SOURCE_HINT),
  role: z.enum(["train", "unseen", "pretrain"]),
  sources: z.array(relativePath).min(1),
  tests: z.array(relativePath).min(1),
  omit: z.array(relativePath).default([]),
  framework: z.enum(FRAMEWORKS),
  lock: relativePath.optional(),
  tools: z.array(z.string().min(1)).optional(),
  test: z
    .strictObject({
      argv: z.array(z.string()).min(1),
      format: z.enum(REPORT_FORMATS),
      reportFile: z.string().nullable().default(null),
    })
    .optional(),
  limits: z.strictObject({ memoryMb: limit, processes: limit, diskMb: limit }).partial().optional(),
});

type RawEntry = z.infer<typeof entrySchema>;

const catalogueSchema = z.strictObject({ packages: z.array(entrySchema).min(1) });

function duplicate(values: readonly string[]): string | undefined {
  return values.find((value, index) => values.indexOf(value) !== index);
}

/** Pinned files of one catalogue, each read once and only when an entry needs it. */
class PinFiles {
  private readonly folder: string;
  private readonly locks = new Map<string, Promise<NpmLock>>();
  private readonly texts = new Map<string, Promise<string>>();

  constructor(folder: string) {
    this.folder = folder;
  }

  lock(path: string): Promise<NpmLock> {
    const known = this.locks.get(path) ?? readNpmLock(join(this.folder, path));
    this.locks.set(path, known);
    return known;
  }

  async requirements(name: string) {
    const file = join(this.folder, PYTHON_PINS, name);
    return parseRequirements(file, await this.text(file));
  }

  async goSums() {
    const file = join(this.folder, GO_PINS);
    return parseGoSum(file, await this.text(file));
  }

  private text(file: string): Promise<string> {
    const known = this.texts.get(file) ?? readText(file);
    this.texts.set(file, known);
    return known;
  }
}

type Pinned = Pick<PinnedEntry, "packageName" | "version" | "integrity" | "pins">;

async function pinNpm(where: string, entry: RawEntry, files: PinFiles): Promise<Pinned> {
  const [, packageName, version] = SOURCES.npm.exec(entry.source) as unknown as [string, string, string];
  const lock = await files.lock(entry.lock ?? "");
  if (lock.dependencies[packageName] !== version)
    throw new EnvironmentError(
      "catalogue",
      `${where}: package.json pins ${packageName} to ${lock.dependencies[packageName] ?? "nothing"}, not to ${version}`,
    );
  const locked = lock.packages[`node_modules/${packageName}`];
  if (locked?.version !== version)
    throw new EnvironmentError(
      "catalogue",
      `${where}: the lockfile has ${locked?.version ?? "no version"}, not ${version}`,
    );
  return { packageName, version, integrity: locked.integrity!, pins: { kind: "npm", lock } };
}

async function pinPypi(where: string, folder: string, entry: RawEntry, files: PinFiles): Promise<Pinned> {
  const [, packageName, version] = SOURCES.pypi.exec(entry.source) as unknown as [string, string, string];
  const pinned = (await files.requirements(PYTHON_SOURCES)).get(normalName(packageName));
  if (pinned?.version !== version || pinned.hashes.length !== 1)
    throw new EnvironmentError(
      "catalogue",
      `${where}: ${PYTHON_PINS}/${PYTHON_SOURCES} pins ${packageName} to ${pinned?.version ?? "nothing"}, expected ${version} with one hash`,
    );
  const lock = entry.lock ?? DEFAULT_WHEELS[entry.framework];
  if (lock !== undefined) await files.requirements(`${lock}.txt`);
  return {
    packageName,
    version,
    integrity: `sha256:${pinned.hashes[0]}`,
    pins: { kind: "pypi", wheels: lock === undefined ? null : join(folder, PYTHON_PINS, `${lock}.txt`) },
  };
}

async function pinGo(where: string, entry: RawEntry, files: PinFiles): Promise<Pinned> {
  const [, packageName, version] = SOURCES.go.exec(entry.source) as unknown as [string, string, string];
  const integrity = (await files.goSums()).get(`${packageName}@v${version}`);
  if (integrity === undefined)
    throw new EnvironmentError("catalogue", `${where}: ${GO_PINS} has no ${packageName} v${version}`);
  return { packageName, version, integrity, pins: { kind: "go" } };
}

/** What the schema of a single field cannot say. */
function checkEntry(where: string, entry: RawEntry): void {
  const both = entry.sources.find((path) => entry.tests.includes(path));
  if (both !== undefined)
    throw new EnvironmentError("catalogue", `${where}: ${both} is among the sources and the tests`);
  const kind = kindOf(entry.source);
  if (!LANGUAGES[kind].includes(entry.framework))
    throw new EnvironmentError(
      "catalogue",
      `${where}: framework ${entry.framework}: expected one of ${LANGUAGES[kind].join(", ")} for ${kind}: sources`,
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

export function kindOf(source: string): SourceKind {
  return source.slice(0, source.indexOf(":")) as SourceKind;
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
    const kind = kindOf(entry.source);
    const pinned =
      kind === "npm"
        ? await pinNpm(where, entry, files)
        : kind === "pypi"
          ? await pinPypi(where, folder, entry, files)
          : await pinGo(where, entry, files);
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
