/** Finds what pins an entry in the files beside its catalogue. */
import { join } from "node:path";
import type { SandboxImage } from "../sandbox/runtime.ts";
import { EnvironmentError } from "./errors.ts";
import { languageOf } from "./frameworks.ts";
import { type NpmLock, normalName, parseGoSum, parseRequirements, readNpmLock, readText } from "./pins.ts";
import { bareName, type DockerSource, type GitSource, type RegistrySource, sourceOf } from "./sources.ts";
import type { CatalogueEntry } from "./types.ts";

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
  | { readonly kind: "go" }
  | {
      readonly kind: "git";
      readonly repository: string;
      readonly commit: string;
      /** What its tests need, by the language of its framework. */
      readonly lock: NpmLock | null;
      readonly wheels: string | null;
    }
  | { readonly kind: "docker"; readonly image: SandboxImage };

/** What pins an entry, and what that makes of its source. */
export interface Pinned {
  /** The registry's name of the package; `name` is the catalogue's own. */
  readonly packageName: string;
  readonly version: string;
  /**
   * npm: subresource integrity of the tarball; PyPI: `sha256:<hex>` of the sdist; Go: `h1:…` of the module; git: `commit:<hex>`; Docker: the
   * image's id.
   */
  readonly integrity: string;
  readonly pins: Pins;
}

/** Pinned files of one catalogue, each read once and only when an entry needs it. */
export class PinFiles {
  readonly folder: string;
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

async function pinNpm(
  where: string,
  { name: packageName, version }: RegistrySource,
  entry: CatalogueEntry,
  files: PinFiles,
): Promise<Pinned> {
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

/** The file of wheels that an entry's tests need; null = none. */
async function wheelsOf(entry: CatalogueEntry, files: PinFiles): Promise<string | null> {
  const lock = entry.lock ?? DEFAULT_WHEELS[entry.framework];
  if (lock === undefined) return null;
  await files.requirements(`${lock}.txt`);
  return join(files.folder, PYTHON_PINS, `${lock}.txt`);
}

async function pinPypi(
  where: string,
  { name: packageName, version }: RegistrySource,
  entry: CatalogueEntry,
  files: PinFiles,
): Promise<Pinned> {
  const pinned = (await files.requirements(PYTHON_SOURCES)).get(normalName(packageName));
  if (pinned?.version !== version || pinned.hashes.length !== 1)
    throw new EnvironmentError(
      "catalogue",
      `${where}: ${PYTHON_PINS}/${PYTHON_SOURCES} pins ${packageName} to ${pinned?.version ?? "nothing"}, expected ${version} with one hash`,
    );
  const wheels = await wheelsOf(entry, files);
  return {
    packageName,
    version,
    integrity: `sha256:${pinned.hashes[0]}`,
    pins: { kind: "pypi", wheels },
  };
}

async function pinGo(
  where: string,
  { name: packageName, version }: RegistrySource,
  files: PinFiles,
): Promise<Pinned> {
  const integrity = (await files.goSums()).get(`${packageName}@v${version}`);
  if (integrity === undefined)
    throw new EnvironmentError("catalogue", `${where}: ${GO_PINS} has no ${packageName} v${version}`);
  return { packageName, version, integrity, pins: { kind: "go" } };
}

const COMMIT_SHOWN = 12;

async function pinGit(
  where: string,
  source: GitSource,
  entry: CatalogueEntry,
  files: PinFiles,
): Promise<Pinned> {
  if (entry.commit === undefined)
    throw new EnvironmentError(
      "catalogue",
      `${where}: commit: expected the 40 hex digits the ref stands for`,
    );
  const language = languageOf(entry);
  const lock = language === "node" && entry.lock !== undefined ? await files.lock(entry.lock) : null;
  const wheels = language === "python" ? await wheelsOf(entry, files) : null;
  return {
    packageName: bareName(source),
    version: entry.commit.slice(0, COMMIT_SHOWN),
    integrity: `commit:${entry.commit}`,
    pins: { kind: "git", repository: source.repository, commit: entry.commit, lock, wheels },
  };
}

function pinDocker(where: string, source: DockerSource, entry: CatalogueEntry): Pinned {
  const { image } = entry;
  const id = /sha256:([0-9a-f]{64})$/.exec(image?.reference ?? "")?.[1];
  if (image === undefined || id === undefined)
    throw new EnvironmentError(
      "catalogue",
      `${where}: image.reference: expected an image's id or digest, sha256:…`,
    );
  return {
    packageName: source.image,
    version: id.slice(0, COMMIT_SHOWN),
    integrity: `sha256:${id}`,
    pins: { kind: "docker", image },
  };
}

/** Throws `EnvironmentError("catalogue")` naming `where` when the files beside the catalogue do not pin the entry. */
export async function pinEntry(where: string, entry: CatalogueEntry, files: PinFiles): Promise<Pinned> {
  const source = sourceOf(entry);
  switch (source.kind) {
    case "npm":
      return pinNpm(where, source, entry, files);
    case "pypi":
      return pinPypi(where, source, entry, files);
    case "go":
      return pinGo(where, source, files);
    case "git":
      return pinGit(where, source, entry, files);
    case "docker":
      return pinDocker(where, source, entry);
  }
}
