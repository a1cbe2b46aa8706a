/** What is known of the working tree during a rollout, and the re-use of command results that it allows. */
import { createHash } from "node:crypto";
import type { Sandbox } from "../sandbox/runtime.ts";
import type { CommandReuse } from "./tools/tool.ts";
import type { CommandCache } from "./types.ts";

export interface TreeWatch {
  readonly hash: () => Promise<string>;
  /** sha256 of the names of files, links and folders, the empty ones too. */
  readonly names: () => Promise<string>;
  /** To be called after anything that may have changed the tree. */
  readonly touched: () => void;
}

/** Hashes are taken only when asked for, and kept until the tree may have changed. */
export function watchTree(sandbox: Sandbox): TreeWatch {
  let known: string | null = null;
  let knownNames: string | null = null;
  return {
    hash: async () => {
      known ??= await sandbox.treeHash();
      return known;
    },
    names: async () => {
      knownNames ??= await hashOfNames(sandbox);
      return knownNames;
    },
    touched: () => {
      known = null;
      knownNames = null;
    },
  };
}

async function hashOfNames(sandbox: Sandbox): Promise<string> {
  const lines = (await sandbox.list(sandbox.workdir)).map(({ path, type }) => `${type} ${path}\0`);
  return createHash("sha256").update(lines.sort().join("")).digest("hex");
}

/** True while no command left anything in the sandbox's /tmp: such files would be state beside the tree. */
export async function isScratchEmpty(sandbox: Sandbox): Promise<boolean> {
  return (await sandbox.list("/tmp").catch(() => null))?.length === 0;
}

/**
 * A result is used again only for the same tree and command, only if the command left tree and /tmp as they were, and never once a
 * command of this rollout left something in /tmp. So a run with the cache and one without see the same texts and end with the same
 * tree.
 */
export function commandReuse(sandbox: Sandbox, cache: CommandCache, tree: TreeWatch): CommandReuse {
  let clean: boolean | null = null;
  let before: string | null = null;
  return {
    recall: async (key) => {
      clean ??= await isScratchEmpty(sandbox);
      before = clean ? await tree.hash() : null;
      const result = before === null ? undefined : cache.get(before, key);
      if (result === undefined) {
        tree.touched();
        // Not known again until `remember` has looked.
        clean = clean ? null : false;
      }
      return result;
    },
    remember: async (key, result) => {
      if (before === null) return;
      clean = await isScratchEmpty(sandbox);
      if (clean && (await tree.hash()) === before) cache.set(before, key, result);
    },
  };
}
