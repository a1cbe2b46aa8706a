/** The real history of an environment that is a commit of a git repository: read from the mirror on the host, for those who make tasks of it. */
import { join } from "node:path";
import type { PinnedEntry } from "./catalogue.ts";
import { isBuilt } from "./detect.ts";
import { EnvironmentError } from "./errors.ts";
import { type FetchOptions, fetchCommit, git, mirrorOf, readBlobs, readCommit } from "./git.ts";
import { isKept } from "./materials.ts";
import { isAtOrBelow } from "./paths.ts";
import { sourceOf } from "./sources.ts";
import type { Tree } from "./tree.ts";
import type { CatalogueEntry, PreparedEnvironment } from "./types.ts";

export interface Commit {
  readonly sha: string;
  readonly parents: readonly string[];
  /** Subject and body as they were written. */
  readonly message: string;
}

/** One path that a commit changes. Links and submodules are none. */
export interface ChangedPath {
  readonly path: string;
  /** Blob ids; null = the path is not there. */
  readonly before: string | null;
  readonly after: string | null;
  /** Added and removed ones; 0 for a binary file. */
  readonly lines: number;
}

export interface History {
  readonly repository: string;
  /** The environment's own commit: nothing after it is ever read. */
  readonly commit: string;
  /** Newest first. */
  commits(max: number): Promise<readonly Commit[]>;
  /** What a commit changes in its first parent, by path. */
  changes(commit: Commit): Promise<readonly ChangedPath[]>;
  blobs(ids: readonly string[]): Promise<readonly Uint8Array[]>;
  /** The files an environment of that commit would have: nothing of `.git`, nothing left out, nothing built. */
  tree(sha: string): Promise<Tree>;
}

type Entry = Pick<CatalogueEntry, "name" | "source" | "sources" | "tests" | "commit" | "omit">;

/** A built file is left out, unless the entry itself works with it. */
function belongs(entry: Entry, path: string): boolean {
  const own = entry.sources.includes(path) || entry.tests.some((test) => isAtOrBelow(path, test));
  return isKept({ omit: entry.omit ?? [] }, path) && (own || !isBuilt(path));
}

/** What git says of a commit whose parents it has not got. */
const TORN = /revision walk setup failed|Failed to traverse parents/;
const GONE = /not our ref|unadvertised object|couldn't find remote ref/;
const NOWHERE = /does not appear to be a git repository|repository '.*' (does not exist|not found)/;

/** The error of a git command, as `no-source` where another attempt would end as this one did. */
function explained(repository: string, commit: string, error: unknown): unknown {
  if (!(error instanceof EnvironmentError) || error.kind !== "install") return error;
  const why = TORN.test(error.message)
    ? `the history of commit ${commit} ends early, as in a shallow clone; git fetch --unshallow there brings the rest`
    : GONE.test(error.message)
      ? `commit ${commit} is gone; push a branch that holds it, or add the environment anew (tadpole env add) at a commit that is there`
      : NOWHERE.test(error.message)
        ? `no git repository is there any more, and commit ${commit} was not fetched yet; put it back, or add the environment anew (tadpole env add)`
        : null;
  return why === null
    ? error
    : new EnvironmentError("no-source", `git:${repository}: ${why}`, { cause: error });
}

/** Null where the source has no history. Throws `EnvironmentError`: `install` where its repository cannot be read, `no-source` where it lacks some of it. */
export function historyOf(entry: Entry, options: FetchOptions): History | null {
  const source = sourceOf(entry);
  if (source.kind !== "git") return null;
  const { repository } = source;
  const { commit } = entry;
  if (commit === undefined)
    throw new EnvironmentError("catalogue", `${entry.name}: commit: expected what ${source.ref} stands for`);
  let mirror: Promise<string> | undefined;
  const folder = (): Promise<string> => {
    mirror ??= mirrorOf(repository, commit, options).catch((error: unknown) => {
      mirror = undefined;
      throw explained(repository, commit, error);
    });
    return mirror;
  };
  return {
    repository,
    commit,
    commits: async (max) => {
      const format = ["-z", "--format=%H%n%P%n%B", `--max-count=${max}`];
      const cwd = await folder();
      const log = () => git(cwd, ["log", "--topo-order", ...format, commit], options);
      const text = await log()
        .catch(async (error: unknown) => {
          if (!TORN.test(String(error))) throw error;
          // The repository may be whole by now.
          await fetchCommit(cwd, repository, commit, options);
          return log();
        })
        .catch((error: unknown) => {
          throw explained(repository, commit, error);
        });
      return parseCommits(text);
    },
    changes: async ({ sha, parents }) => {
      const range = [parents[0]!, sha];
      const flags = ["-r", "-z", "--no-renames", "--raw", "--numstat", "--no-ext-diff", "--no-abbrev"];
      return parseChanges(await git(await folder(), ["diff-tree", ...flags, ...range], options));
    },
    blobs: async (ids) => readBlobs(await folder(), ids, options),
    tree: async (sha) => {
      const whole = await readCommit(repository, sha, options);
      return new Map([...whole].filter(([path]) => belongs(entry, path)));
    },
  };
}

/** That of a prepared environment. */
export function historyOfPrepared(
  { entry, root }: Pick<PreparedEnvironment, "entry" | "root">,
  signal?: AbortSignal,
): History | null {
  // <data>/environments/<key>/root
  return historyOf(entry, { dataFolder: join(root, "../../.."), signal });
}

/** Whether tasks can be made of an entry's commits. */
export function hasCommits(entry: Pick<PinnedEntry, "source">): boolean {
  return sourceOf(entry).kind === "git";
}

/** Pure. `%H%n%P%n%B`, ended by NUL each. */
export function parseCommits(text: string): Commit[] {
  return text
    .split("\0")
    .filter((record) => record !== "")
    .map((record) => {
      const [sha = "", parents = "", ...message] = record.split("\n");
      return { sha, parents: parents.split(" ").filter(Boolean), message: message.join("\n").trim() };
    });
}

const FILE = /^100/;
const NOTHING = /^0+$/;

/** Pure. `--raw` and `--numstat` with `-z`: `:<mode> <mode> <id> <id> <letter>`, path, …, then `<added>\t<removed>\t<path>`, …. */
export function parseChanges(text: string): ChangedPath[] {
  const parts = text.split("\0").filter((part) => part !== "");
  const changes = new Map<string, ChangedPath>();
  for (let at = 0; at < parts.length; at++) {
    const [, from, to, before, after] =
      /^:(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) [A-Z]\d*$/.exec(parts[at]!) ?? [];
    if (from === undefined) {
      const [, added, removed, path] = /^(\d+|-)\t(\d+|-)\t(.*)$/s.exec(parts[at]!) ?? [];
      const change = changes.get(path ?? "");
      if (change !== undefined && added !== "-")
        changes.set(path!, { ...change, lines: Number(added) + Number(removed) });
      continue;
    }
    const path = parts[++at]!;
    // A link or a submodule, before or after.
    if (![from, to].every((mode) => FILE.test(mode!) || NOTHING.test(mode!))) continue;
    const idOf = (id: string) => (NOTHING.test(id) ? null : id);
    changes.set(path, { path, before: idOf(before!), after: idOf(after!), lines: 0 });
  }
  return [...changes.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}
