/** Reads and checks `environments/catalogue.yaml` with its package.json and lockfile. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { z } from "zod";
import { EnvironmentError } from "./errors.ts";
import type { CatalogueEntry } from "./types.ts";

/** The bundled catalogue's folder. */
export const CATALOGUE_FOLDER = fileURLToPath(new URL("../../environments/", import.meta.url));

export interface PinnedEntry extends CatalogueEntry {
  readonly omit: readonly string[];
  /** npm's package name; `name` is the catalogue's own. */
  readonly packageName: string;
  readonly version: string;
  /** Subresource integrity of the tarball, from the lockfile. */
  readonly integrity: string;
}

export interface Catalogue {
  readonly folder: string;
  readonly entries: readonly PinnedEntry[];
  /** sha256 (hex) of package.json and package-lock.json: what an installation of the catalogue is made from. */
  readonly lockHash: string;
}

const relativePath = z
  .string()
  .regex(
    /^(?!\/)(?!.*(^|\/)\.{1,2}(\/|$))(?!.*\/\/)[^\\]+[^/\\]$/,
    "expected a path inside the package, without .. and with /",
  );

const entrySchema = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]*$/, "expected lower-case letters, digits and hyphens"),
  source: z
    .string()
    .regex(
      /^npm:(@[a-z0-9._-]+\/)?[a-z0-9._-]+@\d+\.\d+\.\d+(-[0-9a-z.-]+)?$/i,
      "expected npm:<package>@<exact version>",
    ),
  role: z.enum(["train", "unseen", "pretrain"]),
  sources: z.array(relativePath).min(1),
  tests: z.array(relativePath).min(1),
  omit: z.array(relativePath).default([]),
  framework: z.literal("tape"),
});

const catalogueSchema = z.strictObject({ packages: z.array(entrySchema).min(1) });

const packageSchema = z.object({
  dependencies: z.record(z.string(), z.string()),
});

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      integrity: z.string().optional(),
      resolved: z.string().optional(),
    }),
  ),
});

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new EnvironmentError("catalogue", `${file}: cannot be read (${(cause as Error).message})`, {
      cause,
    });
  }
}

function parseWith<T>(file: string, schema: z.ZodType<T>, read: () => unknown): T {
  let value: unknown;
  try {
    value = read();
  } catch (cause) {
    throw new EnvironmentError("catalogue", `${file}: ${(cause as Error).message.split("\n")[0]}`, { cause });
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  throw new EnvironmentError("catalogue", `${file}: ${issue.path.join(".") || "the file"}: ${issue.message}`);
}

function duplicate(values: readonly string[]): string | undefined {
  return values.find((value, index) => values.indexOf(value) !== index);
}

/** Throws `EnvironmentError("catalogue")`, naming file and field. `folder` holds catalogue.yaml, package.json and package-lock.json. */
export async function loadCatalogue(folder: string = CATALOGUE_FOLDER): Promise<Catalogue> {
  const file = join(folder, "catalogue.yaml");
  const packageFile = join(folder, "package.json");
  const lockFile = join(folder, "package-lock.json");
  const [text, packageText, lockText] = await Promise.all([file, packageFile, lockFile].map(readText));
  const { packages } = parseWith(file, catalogueSchema, () => parse(text!));
  const manifest = parseWith(packageFile, packageSchema, () => JSON.parse(packageText!));
  const lock = parseWith(lockFile, lockSchema, () => JSON.parse(lockText!));

  const twice = duplicate(packages.map((entry) => entry.name));
  if (twice !== undefined)
    throw new EnvironmentError("catalogue", `${file}: two packages are named ${twice}`);
  for (const [path, locked] of Object.entries(lock.packages)) {
    if (path === "") continue;
    if (locked.integrity === undefined)
      throw new EnvironmentError("catalogue", `${lockFile}: ${path} has no integrity`);
    if (locked.resolved !== undefined)
      throw new EnvironmentError(
        "catalogue",
        `${lockFile}: ${path} has a download address; none is expected`,
      );
  }
  const entries = packages.map((entry, index): PinnedEntry => {
    const where = `${file}: packages.${index}.source (${entry.name})`;
    const at = entry.source.lastIndexOf("@");
    const packageName = entry.source.slice("npm:".length, at);
    const version = entry.source.slice(at + 1);
    if (manifest.dependencies[packageName] !== version)
      throw new EnvironmentError(
        "catalogue",
        `${where}: package.json pins ${packageName} to ${manifest.dependencies[packageName] ?? "nothing"}, not to ${version}`,
      );
    const locked = lock.packages[`node_modules/${packageName}`];
    if (locked?.version !== version)
      throw new EnvironmentError(
        "catalogue",
        `${where}: the lockfile has ${locked?.version ?? "no version"}, not ${version}`,
      );
    const both = entry.sources.find((path) => entry.tests.includes(path));
    if (both !== undefined)
      throw new EnvironmentError("catalogue", `${where}: ${both} is among the sources and the tests`);
    return { ...entry, packageName, version, integrity: locked.integrity! };
  });
  const lockHash = createHash("sha256").update(`${packageText}\0${lockText}`).digest("hex");
  return { folder, entries, lockHash };
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
