/** Files of a PyPI entry: its sdist's tree, and the wheels its tests need. The package itself is never installed: its tree is the source. */
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readArchive } from "./archive.ts";
import type { PinnedEntry } from "./catalogue.ts";
import { download, whyOf } from "./download.ts";
import { EnvironmentError } from "./errors.ts";
import { importRoots, pythonEnv } from "./frameworks.ts";
import { installOnce, readInstalled, runTool } from "./install.ts";
import { assertPaths, type Gathered, type GatherOptions, isKept } from "./materials.ts";
import { PLATFORM } from "./npm.ts";
import { normalName } from "./pins.ts";
import type { Tree } from "./tree.ts";

/** The system's own Python: sandboxes see /usr, so that it is the one that runs the tests. */
export const PYTHON = "/usr/bin/python3";

const PREPARATION = "1";

export async function gatherPython(
  entry: PinnedEntry,
  wheels: string | null,
  options: GatherOptions,
): Promise<Gathered> {
  const sha256 = entry.integrity.replace(/^sha256:/, "");
  const whole = await downloadSdist({ ...entry, sha256 }, options);
  const tree = new Map([...whole].filter(([path]) => isKept(entry, path)));
  assertPaths(entry, tree);
  return { tree, ...(await pythonParts(entry, wheels, tree, options)) };
}

/** All but the tree of an environment of Python. */
export async function pythonParts(
  entry: PinnedEntry,
  wheels: string | null,
  tree: Tree,
  options: GatherOptions,
): Promise<Omit<Gathered, "tree">> {
  const ask = "import platform; print(platform.python_version())";
  const python = (await runTool(PYTHON, ["-c", ask], { cwd: "/", signal: options.signal })).trim();
  const installed = wheels === null ? new Map() : await readWheels(entry, wheels, python, options);
  const modules = new Map([...installed, ...distribution(entry)].sort(([a], [b]) => (a < b ? -1 : 1)));
  return {
    modules,
    tools: { python, preparation: PREPARATION, platform: PLATFORM },
    env: pythonEnv(importRoots(entry.sources, (path) => tree.has(path))),
  };
}

export interface Sdist {
  readonly source: string;
  readonly packageName: string;
  readonly sha256: string;
}

/** The tree of a sdist pinned by its sha256, from PyPI or whatever index pip is told of. */
export async function downloadSdist(
  { source, packageName, sha256 }: Sdist,
  options: Pick<GatherOptions, "dataFolder" | "signal">,
): Promise<Tree> {
  const bytes = await download({
    dataFolder: options.dataFolder,
    sha256,
    what: `${source} (sha256 ${sha256})`,
    find: async () => {
      const files = await filesOnIndex(packageName, options.signal);
      return files.find((file) => file.sha256 === sha256)?.url;
    },
    ...(options.signal && { signal: options.signal }),
  });
  return withoutTopFolder(source, readArchive(source, bytes));
}

/** Groups: name, version. */
const SDIST = /^(.+)-([^-]+)\.tar\.gz$/;

/** sha256 of a version's sdist. Throws `EnvironmentError`: `no-source` where the index has none, `install` where it does not answer. */
export async function findSdist(packageName: string, version: string, signal?: AbortSignal): Promise<string> {
  const source = `pypi:${packageName}==${version}`;
  const files = await filesOnIndex(packageName, signal).catch((cause: Error) => {
    if (cause instanceof EnvironmentError) throw cause;
    throw new EnvironmentError("install", `${source}: ${whyOf(cause)}`, { cause });
  });
  const sdist = files.find(({ filename }) => {
    const [, name, found] = SDIST.exec(filename) ?? [];
    return name !== undefined && normalName(name) === normalName(packageName) && found === version;
  });
  if (sdist?.sha256 !== undefined) return sdist.sha256;
  const hasWheels = files.some(({ filename }) => filename.split("-")[1] === version);
  const versions = files.flatMap(({ filename }) => SDIST.exec(filename)?.[2] ?? []);
  const others = versions.length === 0 ? "of none" : `of ${[...new Set(versions)].slice(-5).join(", ")}`;
  throw new EnvironmentError(
    "no-source",
    `${source}: the index has ${hasWheels ? "only wheels" : "nothing"} of that version; expected a source package (.tar.gz), which it has ${others}`,
  );
}

interface IndexFile {
  readonly filename: string;
  readonly url: string;
  readonly sha256: string | undefined;
}

/** PyPI's simple index as JSON (PEP 691). */
async function filesOnIndex(packageName: string, signal?: AbortSignal): Promise<readonly IndexFile[]> {
  const index = (process.env.PIP_INDEX_URL ?? "https://pypi.org/simple").replace(/\/$/, "");
  const address = `${index}/${normalName(packageName)}/`;
  const response = await fetch(address, {
    headers: { accept: "application/vnd.pypi.simple.v1+json" },
    ...(signal && { signal }),
  });
  if (response.status === 404)
    throw new EnvironmentError("no-source", `pypi:${packageName}: the index ${index} has no such project`);
  if (!response.ok) throw new Error(`${address} answered ${response.status}`);
  const { files } = (await response.json()) as {
    readonly files: readonly {
      readonly filename: string;
      readonly url: string;
      readonly hashes: { readonly sha256?: string };
    }[];
  };
  return files.map(({ filename, url, hashes }) => ({
    filename,
    url: new URL(url, address).href,
    sha256: hashes.sha256,
  }));
}

/** sdists hold one folder, `<name>-<version>`, and everything in it. */
function withoutTopFolder(source: string, sdist: Tree): Tree {
  const tops = new Set([...sdist.keys()].map((path) => path.split("/", 1)[0]!));
  const [top] = tops;
  if (tops.size !== 1 || top === undefined)
    throw new EnvironmentError("install", `${source}: expected one folder in the sdist, found ${tops.size}`);
  return new Map([...sdist].map(([path, content]) => [path.slice(top.length + 1), content]));
}

const PIP_FLAGS = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--no-compile", "--quiet"];

/** Installs a file of hashed wheels, once per file and Python; nothing they ship is run. */
async function readWheels(
  entry: PinnedEntry,
  file: string,
  python: string,
  options: GatherOptions,
): Promise<Tree> {
  const text = await readFile(file, "utf8");
  const hash = createHash("sha256").update(`${text}\0${python}`).digest("hex");
  const folder = await installOnce({
    dataFolder: options.dataFolder,
    name: `wheels-${hash.slice(0, 12)}`,
    content: "python",
    fill: async (temporary) => {
      await mkdir(join(temporary, "python"));
      await writeFile(join(temporary, "requirements.txt"), text);
      const args = ["-m", "pip", "install", ...PIP_FLAGS, "--target", "python", "-r", "requirements.txt"];
      await runTool(PYTHON, args, { cwd: temporary, signal: options.signal });
    },
    log: () => options.log?.(`installing the wheels of ${file}`),
  });
  const installed = await readInstalled(folder);
  const own = [...installed.keys()].find((path) => isDistributionOf(path, entry.packageName));
  if (own !== undefined)
    throw new EnvironmentError(
      "source-copy",
      `${entry.name}: ${file} installs ${own}, a copy of the package's own source`,
    );
  return installed;
}

function isDistributionOf(path: string, packageName: string): boolean {
  const [, name] = /^([^/]+?)-[^/-]+\.dist-info\//.exec(path) ?? [];
  return name !== undefined && normalName(name) === normalName(packageName);
}

/** What `importlib.metadata` reads of an installed distribution: many packages ask for their own version. */
function distribution(entry: PinnedEntry): Tree {
  const folder = `${normalName(entry.packageName).replaceAll("-", "_")}-${entry.version}.dist-info`;
  const metadata = `Metadata-Version: 2.1\nName: ${entry.packageName}\nVersion: ${entry.version}\n`;
  return new Map([[`${folder}/METADATA`, Buffer.from(metadata)]]);
}
