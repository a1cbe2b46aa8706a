/** Files of an entry that is a commit of a git repository: its tree with a history of one commit, and what its tests need. */
import type { PinnedEntry } from "./catalogue.ts";
import { languageOf } from "./frameworks.ts";
import { readCommit } from "./git.ts";
import { goParts } from "./go.ts";
import { installLock } from "./install.ts";
import { assertPaths, type Gathered, type GatherOptions, isKept } from "./materials.ts";
import { nodeModules, PLATFORM } from "./npm.ts";
import type { Pins } from "./pin-entry.ts";
import { pythonParts } from "./python.ts";
import { snapshotOf } from "./snapshot.ts";
import type { Tree } from "./tree.ts";

const PREPARATION = "1";

export async function gatherGit(
  entry: PinnedEntry,
  pins: Extract<Pins, { readonly kind: "git" }>,
  options: GatherOptions,
): Promise<Gathered> {
  const commit = await readCommit(pins.repository, pins.commit, options);
  const tree = new Map([...commit].filter(([path]) => isKept(entry, path)));
  assertPaths(entry, tree);
  const withHistory = new Map([...tree, ...snapshotOf(tree)].sort(([a], [b]) => (a < b ? -1 : 1)));
  return { tree: withHistory, ...(await parts(entry, pins, tree, options)) };
}

async function parts(
  entry: PinnedEntry,
  pins: Extract<Pins, { readonly kind: "git" }>,
  tree: Tree,
  options: GatherOptions,
): Promise<Omit<Gathered, "tree">> {
  switch (languageOf(entry)) {
    case "python":
      return pythonParts(entry, pins.wheels, tree, options);
    case "go":
      return goParts(entry, tree, options);
    case "node":
    case "other": {
      const tools = { node: process.version, preparation: PREPARATION, platform: PLATFORM };
      if (pins.lock === null) return { modules: new Map(), tools, env: {} };
      const installed = await installLock(pins.lock, options.dataFolder, options);
      return { modules: await nodeModules(entry, pins.lock, installed), tools, env: {} };
    }
  }
}
