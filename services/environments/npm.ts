/** Files of an npm entry: its package's tree and the modules its tests load. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { PinnedEntry } from "./catalogue.ts";
import { collectModules } from "./closure.ts";
import { EnvironmentError } from "./errors.ts";
import { frameworkTools } from "./frameworks.ts";
import { installLock } from "./install.ts";
import { assertPaths, type Gathered, type GatherOptions, isKept } from "./materials.ts";
import type { NpmLock } from "./pins.ts";
import { readTree, type Tree } from "./tree.ts";

/** Raised when preparation itself changes what it makes. */
const PREPARATION = "1";

/** Beside what a module needs to be loaded: types, maps of sources, minified twins. They are half of many packages. */
const NEVER_LOADED = /\.map$|\.d\.[cm]?ts$|\.min\.[a-z]+$|(^|\/)\.bin(\/|$)/;

export async function gatherNpm(
  entry: PinnedEntry,
  lock: NpmLock,
  options: GatherOptions,
): Promise<Gathered> {
  const installed = await installLock(lock, options.dataFolder, options);
  options.signal?.throwIfAborted();
  const folder = join(installed, entry.packageName);
  const tree = await readTree(folder, (path) => path !== "node_modules" && isKept(entry, path));
  assertPaths(entry, tree);
  const tools = { node: process.version, preparation: PREPARATION };
  if (entry.framework === "tape")
    return { tree, modules: await collectModules(entry, tree, installed), tools };
  return {
    tree,
    modules: await nodeModules(entry, lock, installed),
    tools: { ...tools, platform: PLATFORM },
    env: {},
  };
}

/** Builds of native parts differ by it. */
export const PLATFORM = `${process.platform}-${process.arch}`;

/** The installed packages that an entry's tests need, whole, by their paths below /repo/node_modules. */
export async function nodeModules(entry: PinnedEntry, lock: NpmLock, installed: string): Promise<Tree> {
  const root = join(installed, "..");
  const needed = neededPackages(entry, lock, (path) => existsSync(join(root, path)));
  return readPackages(needed, `node_modules/${entry.packageName}`, root);
}

/**
 * Locked packages, by their paths, that the framework, the entry's `tools` and the package under test depend on. Optional ones that are not
 * installed (builds for other systems) are left out. Throws `catalogue` for a tool that is not locked, `source-copy` where something needs the
 * package under test itself.
 */
function neededPackages(
  entry: PinnedEntry,
  lock: Pick<NpmLock, "packages" | "folder">,
  isInstalled: (path: string) => boolean,
): string[] {
  // The lockfile of a repository is about the repository itself.
  const own = lock.packages[`node_modules/${entry.packageName}`] ? `node_modules/${entry.packageName}` : "";
  const found = new Set<string>();
  const queue = [own];
  for (const tool of [...frameworkTools(entry.framework), ...(entry.tools ?? [])]) {
    const path = resolvePackage(lock.packages, own, tool);
    if (path === undefined)
      throw new EnvironmentError("catalogue", `${entry.name}: tools: ${lock.folder} has no package ${tool}`);
    queue.push(path);
  }
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    if (found.has(path)) continue;
    found.add(path);
    const { dependencies, optionalDependencies, peerDependencies, devDependencies } =
      lock.packages[path] ?? {};
    const development = path === "" ? devDependencies : {};
    const names = { ...dependencies, ...optionalDependencies, ...peerDependencies, ...development };
    for (const name of Object.keys(names)) {
      const next = resolvePackage(lock.packages, path, name);
      if (next === undefined || !isInstalled(next)) continue;
      if (next.endsWith(`node_modules/${entry.packageName}`))
        throw new EnvironmentError(
          "source-copy",
          `${entry.name}: ${path} needs ${next}, a copy of the package's own source`,
        );
      queue.push(next);
    }
  }
  found.delete(own);
  return [...found].sort();
}

/** Node's rule: the nearest node_modules upwards that has the package. */
function resolvePackage(packages: NpmLock["packages"], from: string, name: string): string | undefined {
  for (let at = from; at !== ""; at = at.slice(0, Math.max(0, at.lastIndexOf("/node_modules/")))) {
    const nested = `${at}/node_modules/${name}`;
    if (packages[nested] !== undefined) return nested;
  }
  const top = `node_modules/${name}`;
  return packages[top] === undefined ? undefined : top;
}

/** The packages' files by their paths below /repo/node_modules; those nested in the package under test move up, to where its tree sees them. */
async function readPackages(paths: readonly string[], own: string, root: string): Promise<Tree> {
  const files = new Map<string, Uint8Array>();
  for (const path of paths) {
    const target = (path.startsWith(`${own}/`) ? path.slice(own.length + 1) : path).slice(
      "node_modules/".length,
    );
    if (files.has(`${target}/package.json`))
      throw new EnvironmentError("install", `two versions of ${target} are needed in one place`);
    const keep = (file: string) => !/(^|\/)node_modules$/.test(file) && !NEVER_LOADED.test(file);
    for (const [file, content] of await readTree(join(root, path), keep))
      files.set(`${target}/${file}`, content);
  }
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
}
