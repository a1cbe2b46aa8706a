/** Makes an environment of any source: what it names is resolved and pinned, how it is tested is found out, and its tests are run. */
import { existsSync } from "node:fs";
import { copyFile, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import type { SandboxRuntimeName } from "../../core/experiment.ts";
import { assertMajor, explain } from "./absent.ts";
import { addedFolder, loadEntries } from "./added.ts";
import { CATALOGUE_FOLDER, loadCatalogue } from "./catalogue.ts";
import { type DetectOptions, detect, loadedPackages, type Manifest, manifestOf } from "./detect.ts";
import { EnvironmentError } from "./errors.ts";
import { moveIntoPlace, removeAbandoned, runtimeFolder, temporaryPath } from "./folders.ts";
import { frameworkTools } from "./frameworks.ts";
import { readCommit, resolveCommit } from "./git.ts";
import { downloadModule } from "./go.ts";
import { type NoteImage, pinImage, readImage } from "./image.ts";
import { installLock, runTool } from "./install.ts";
import { isAtOrBelow } from "./paths.ts";
import { PYTHON_PINS, PYTHON_SOURCES } from "./pin-entry.ts";
import { readNpmLock } from "./pins.ts";
import { type PrepareOptions, prepareEnvironment } from "./prepare.ts";
import { downloadSdist, findSdist } from "./python.ts";
import { fromAnywhere, nameOf, runtimesOf, type Source, sourceOf } from "./sources.ts";
import { readTree, type Tree } from "./tree.ts";
import type { CatalogueEntry, PreparedEnvironment } from "./types.ts";

export interface AddOptions extends Omit<PrepareOptions, "name" | "catalogue">, DetectOptions {
  readonly source: string;
  /** What `runTests` runs them in; default the first that can. */
  readonly runtime?: SandboxRuntimeName | undefined;
  /** Default: made from the source. */
  readonly name?: string | undefined;
  readonly role?: CatalogueEntry["role"] | undefined;
  /** Python: a file of hashed wheels that the tests need. */
  readonly requirements?: string | undefined;
  /** Told of the image that is made of an image (`ImageCache.built`). */
  readonly note?: NoteImage;
  /** docker: absolute path of the working tree; default the image's own. */
  readonly workdir?: string | undefined;
}

/** A source's tree, as far as it decides how it is tested, and the fields that pin it. */
interface Resolved {
  readonly tree: Tree;
  readonly fields: Partial<CatalogueEntry>;
}

/** As the catalogue has it; looked at before anything is fetched. */
const NAME = /^[a-z0-9][a-z0-9-]{0,59}$/;

/**
 * Adds an environment to the data folder: resolves and pins the source, finds or takes how it is tested, prepares it. Nothing is left of one that is
 * refused. Throws `EnvironmentError` with what is missing and the option that names it.
 */
export async function addEnvironment(options: AddOptions): Promise<PreparedEnvironment> {
  const { dataFolder } = options;
  const source = fromAnywhere(options.source);
  const wanted = sourceOf({ source });
  const [able] = runtimesOf({ source });
  const folders = { ...options, dataFolder: runtimeFolder(dataFolder, options.runtime ?? able!) };
  const name = options.name ?? nameOf(wanted);
  if (!NAME.test(name))
    throw new EnvironmentError(
      "unknown",
      `--name: expected at most 60 lower-case letters, digits and hyphens, found ${JSON.stringify(name.slice(0, 80))}`,
    );
  const { entries } = await loadEntries(dataFolder);
  if (entries.some((entry) => entry.name === name))
    throw new EnvironmentError("unknown", `there is an environment ${name} already; choose another --name`);
  assertMajor(wanted);
  checkOptions(wanted, options);
  const folder = addedFolder(dataFolder);
  await mkdir(folder, { recursive: true });
  await removeAbandoned(folder, Date.now());
  const draft = temporaryPath(folder, name);
  await mkdir(draft);
  try {
    const { tree, fields } = await resolve(wanted, folders, draft).catch((error: unknown) => {
      throw explain(wanted, error);
    });
    const found = detect(source, tree, options);
    const lock = await pinTools(wanted, options, draft, tree, found);
    const entry = { name, source, role: options.role ?? "unseen", ...found, ...fields, ...lock };
    await writeFile(join(draft, "catalogue.yaml"), stringify({ packages: [entry] }));
    const catalogue = await loadCatalogue(draft);
    const prepared = await prepareEnvironment({ ...folders, name, catalogue });
    const place = join(folder, name);
    if (existsSync(place))
      throw new EnvironmentError("unknown", `there is an environment ${name} already; choose another --name`);
    await moveIntoPlace(draft, place, { replace: false });
    return prepared;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** An option that says nothing of this source is a mistake, not a wish to be passed over. Throws `EnvironmentError("unknown")`. */
function checkOptions({ kind }: Source, { requirements, workdir, framework, test }: AddOptions): void {
  const refuse = (message: string): never => {
    throw new EnvironmentError("unknown", message);
  };
  if (workdir !== undefined && kind !== "docker") refuse(`--workdir: expected with docker: sources only`);
  if (framework !== undefined && test !== undefined) refuse("--framework and --test: expected one of them");
  if (requirements === undefined) return;
  if (kind !== "pypi" && kind !== "git") refuse("--requirements: expected with pypi: and git: sources only");
  if (!existsSync(requirements)) refuse(`--requirements: no such file: ${requirements}`);
}

async function resolve(wanted: Source, options: AddOptions, draft: string): Promise<Resolved> {
  const { source, signal } = options;
  switch (wanted.kind) {
    case "npm": {
      const { name, version } = wanted;
      await writeLock(draft, { dependencies: { [name]: version } }, signal);
      const installed = await installLock(await readNpmLock(draft), options.dataFolder, options);
      const tree = await readTree(join(installed, name), (path) => path !== "node_modules");
      return { tree, fields: {} };
    }
    case "pypi": {
      const { name, version } = wanted;
      const sha256 = await findSdist(name, version, signal);
      await mkdir(join(draft, PYTHON_PINS), { recursive: true });
      await writeFile(
        join(draft, PYTHON_PINS, PYTHON_SOURCES),
        `${name}==${version} --hash=sha256:${sha256}\n`,
      );
      return { tree: await downloadSdist({ source, packageName: name, sha256 }, options), fields: {} };
    }
    case "go": {
      const { name, version } = wanted;
      const { sum, tree } = await downloadModule(`${name}@v${version}`, options);
      await mkdir(join(draft, "go"), { recursive: true });
      await writeFile(join(draft, "go", "go.sum"), `${name} v${version} ${sum}\n`);
      return { tree, fields: {} };
    }
    case "git": {
      const commit = await resolveCommit(wanted, options);
      return { tree: await readCommit(wanted.repository, commit, options), fields: { commit } };
    }
    case "docker": {
      const image = await pinImage(wanted.image, options.workdir, options.note);
      return { tree: (await readImage(image)).files, fields: { image } };
    }
  }
}

/** A lockfile of exactly these packages; nothing is installed and nothing is run. */
async function writeLock(folder: string, manifest: Manifest, signal: AbortSignal | undefined): Promise<void> {
  const text = JSON.stringify({ name: "environment", private: true, ...manifest }, null, 2);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), `${text}\n`);
  const flags = ["--package-lock-only", "--ignore-scripts", "--omit-lockfile-registry-resolved"];
  await runTool("npm", ["install", ...flags, "--no-audit", "--no-fund", "--legacy-peer-deps"], {
    cwd: folder,
    signal,
  });
}

/** Where a repository's npm pins lie, below its entry's folder. */
const NODE_LOCK = "node";

/** Pins what the tests need beside the source; returns the fields that name it. */
async function pinTools(
  source: Source,
  options: AddOptions,
  draft: string,
  tree: Tree,
  found: ReturnType<typeof detect>,
): Promise<Partial<CatalogueEntry>> {
  const { kind } = source;
  if (kind === "go" || kind === "docker" || found.framework === "go-test") return {};
  if (found.framework === "pytest" || found.framework === "unittest") {
    const file =
      options.requirements ??
      (found.framework === "pytest" ? join(CATALOGUE_FOLDER, PYTHON_PINS, "pytest.txt") : undefined);
    if (file === undefined) return {};
    await mkdir(join(draft, PYTHON_PINS), { recursive: true });
    await copyFile(file, join(draft, PYTHON_PINS, "tests.txt"));
    return { lock: "tests" };
  }
  if (!tree.has("package.json")) return {};
  const { dependencies = {}, devDependencies = {} } = manifestOf(options.source, tree);
  const isTest = (path: string) => found.tests.some((test) => isAtOrBelow(path, test));
  const loaded = loadedPackages(tree, (path) => isTest(path) || /^tests?\//.test(path));
  const needed = Object.entries(devDependencies).filter(
    ([name]) =>
      loaded.has(name) || frameworkTools(found.framework).includes(name) || name === found.framework,
  );
  const tools = needed
    .map(([name]) => name)
    .filter((name) => !frameworkTools(found.framework).includes(name));
  if (source.kind === "git") {
    if (needed.length + Object.keys(dependencies).length === 0) return {};
    await writeLock(
      join(draft, NODE_LOCK),
      { dependencies, devDependencies: Object.fromEntries(needed) },
      options.signal,
    );
    return { lock: NODE_LOCK };
  }
  if (source.kind !== "npm") return {};
  await writeLock(
    draft,
    { dependencies: { [source.name]: source.version }, devDependencies: Object.fromEntries(needed) },
    options.signal,
  );
  return found.framework === "tape" || tools.length === 0 ? {} : { tools };
}
