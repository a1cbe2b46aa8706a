/** The candidate of a commit: its parent's tree under the environment, its sources as the answer, its tests as what judges. */
import type { FileChange } from "../../../core/task.ts";
import { type History, isProgram, readTree, type Tree } from "../../environments/index.ts";
import type { PreparedEnvironment } from "../../environments/types.ts";
import { MODULE_FUNCTION } from "../../languages/index.ts";
import { baseText } from "../base-tree.ts";
import { goldLines } from "../leaks.ts";
import { functionKey } from "../split.ts";
import type { Candidate } from "../types.ts";
import { contractOf } from "./contract.ts";
import { textOfCommit } from "./text.ts";
import type { ChangedFile, Surveyed, Usable } from "./types.ts";

/** A site's kind of mistake: nobody put it there. */
const OPERATOR = "commit";

function write(path: string, content: Uint8Array): FileChange {
  const bytes = Buffer.from(content);
  const text = bytes.toString("utf8");
  const isText = Buffer.from(text, "utf8").equals(bytes);
  const executable = isProgram(content) ? { executable: true } : {};
  return isText
    ? { kind: "write", path, content: text, encoding: "utf8", ...executable }
    : { kind: "write", path, content: bytes.toString("base64"), encoding: "base64", ...executable };
}

/** Whole files that lead from one tree to the other; those of `always` are written even where they are equal. By path. */
function treeChanges(from: Tree, to: Tree, always: ReadonlySet<string> = new Set()): FileChange[] {
  const paths = [...new Set([...from.keys(), ...to.keys()])].sort();
  return paths.flatMap((path): FileChange[] => {
    const [old, now] = [from.get(path), to.get(path)];
    if (now === undefined) return [{ kind: "delete", path }];
    const isSame = old !== undefined && Buffer.compare(old, now) === 0;
    return isSame && !always.has(path) ? [] : [write(path, now)];
  });
}

const inText = (tree: Tree): Map<string, string> =>
  new Map([...tree].map(([path, content]) => [path, Buffer.from(content).toString("utf8")] as const));

/** Functions of the base tree that the commit changes, where it has any. */
function sitesOf({ sources, functions }: Usable): Candidate["sites"] {
  const sites = sources.flatMap(({ path }) => {
    const changed = functions.flatMap(({ file, name, line }) =>
      file === path && line !== null ? [{ file, functionName: name, line, operator: OPERATOR }] : [],
    );
    const inner = changed.filter(({ functionName }) => functionName !== MODULE_FUNCTION);
    return inner.length > 0 ? inner : changed;
  });
  const [{ path }] = sources as [ChangedFile];
  return sites.length > 0
    ? sites
    : [{ file: path, functionName: MODULE_FUNCTION, line: 1, operator: OPERATOR }];
}

const wordsOf = (text: string): Set<string> => new Set(text.match(/[\p{L}_$][\p{L}\p{N}_$]*/gu));

/** `functions` of it are the keys by which train and held-out tasks are split. */
export function keysOf({ entry }: Pick<PreparedEnvironment, "entry">, { functions }: Usable): string[] {
  return [...new Set(functions.map(({ file, name }) => functionKey(entry.name, file, name)))];
}

export async function candidateOf(
  environment: PreparedEnvironment,
  history: History,
  { commit }: Pick<Surveyed, "commit">,
  usable: Usable,
): Promise<Candidate> {
  const { type, check, sources, tests } = usable;
  const parent = commit.parents[0]!;
  const snapshot = await readTree(environment.root, (path) => path !== ".git");
  const [before, after] = [await history.tree(parent), await history.tree(commit.sha)];
  const changed = new Set(sources.map(({ path }) => path));
  const part = (tree: Tree, paths: ReadonlySet<string>): Tree =>
    new Map([...tree].filter(([path]) => paths.has(path)));
  // With the answer's own files in it, whatever the snapshot has: the candidate says by itself what it begins with.
  const base = treeChanges(snapshot, before, changed);
  const gold = treeChanges(part(before, changed), part(after, changed));
  const tested = new Set(tests.map(({ path }) => path));
  const hidden = treeChanges(part(before, tested), part(after, tested));
  const sites = sitesOf(usable);
  const named = wordsOf([...tests.map((file) => file.after), JSON.stringify(check)].join("\n"));
  const inner = sites
    .map(({ functionName }) => functionName)
    .filter((name) => !name.startsWith("<") && !named.has(name));
  const { title, body } = textOfCommit({
    type,
    message: commit.message,
    files: gold.map(({ path }) => path),
    goldLines: goldLines(baseText(environment.root, base), gold),
    inner,
  });
  return {
    type,
    generator: "history",
    base,
    gold,
    sites,
    functions: keysOf(environment, usable),
    ...(hidden.length > 0 && { tests: hidden }),
    ...(check !== null && { check }),
    text: { title, body, contract: contractOf({ check, tests, gold, tree: inText(before) }) },
    origin: { commit: { repository: history.repository, sha: commit.sha, parent } },
  };
}
