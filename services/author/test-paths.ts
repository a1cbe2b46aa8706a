/** Where the files may stand that an author delivers: hidden tests where a package's own tests stand, and nothing that steers or replaces anything else. */
import { lstatSync } from "node:fs";
import { join, posix } from "node:path";
import type { FileChange } from "../../core/task.ts";
import { isAtOrBelow, languageOfEntry, partOf } from "../environments/index.ts";
import type { PreparedEnvironment } from "../environments/types.ts";
import { testMounts } from "../grading/index.ts";

type Tree = Pick<PreparedEnvironment, "root" | "entry">;

/** Files by which tools learn what to install, load and run; wherever they stand. */
const STEERS =
  /^(package(-lock)?\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-\w+\.yaml|\.npmrc|\.node-version|\.babelrc.*|\.swcrc|babel\.config\.\w+|[jt]sconfig(\..+)?\.json|(jest|vite|vitest|mocha|ava|tap|karma)\.(config|setup|workspace)\..+|\.mocharc.*|mocha\.opts|\.taprc|conftest\.py|\.?pytest\.ini|tox\.ini|setup\.(cfg|py)|pyproject\.toml|(site|user)customize\.py|.*\.pth|.*\.pyc|requirements.*\.txt|go\.(mod|sum|work|work\.sum)|Cargo\.(toml|lock)|build\.rs|Makefile|\.git.*)$/i;
/** Of file names that say so: `test-box.js`, `box.spec.ts`, `test_box.py`. */
const NAMED = /^tests?[-_.]|[-_.](tests?|spec)\.[^.]+$/i;

const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));
const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
const endingOf = (path: string): string => posix.extname(path);

/** In a folder of tests alone; among other files, by its name and ending. */
function isTestPath(path: string, { entry }: Tree): boolean {
  if ([...entry.tests, ...testMounts(entry)].some((test) => isAtOrBelow(path, test))) return true;
  const folders = new Set(entry.tests.map(folderOf));
  const mixed = (folder: string) =>
    folder === "" || entry.sources.some((source) => source.startsWith(`${folder}/`));
  if ([...folders].some((folder) => !mixed(folder) && isAtOrBelow(path, folder))) return true;
  const language = languageOfEntry(entry);
  if (language !== "other" && partOf(language, path) === "tests") return true;
  return NAMED.test(nameOf(path)) && entry.tests.some((test) => endingOf(test) === endingOf(path));
}

const kindAt = ({ root }: Tree, path: string) => lstatSync(join(root, path), { throwIfNoEntry: false });

/** What stands in a file's way: in the tree of the package, of the author's change, among the other files. */
export function collisionOf(
  path: string,
  tree: Tree,
  change: readonly FileChange[],
  others: readonly string[],
): string | null {
  const parts = path.split("/");
  const above = parts.slice(0, -1).map((_, depth) => parts.slice(0, depth + 1).join("/"));
  const written = change.filter(({ kind }) => kind !== "delete").map((one) => one.path);
  const taken = [...written, ...others];
  const file = above.find((one) => {
    const found = kindAt(tree, one);
    return (found !== undefined && !found.isDirectory()) || taken.includes(one);
  });
  if (file !== undefined) return `${path} cannot be, for ${file} is a file`;
  const found = kindAt(tree, path);
  if (found?.isDirectory() || taken.some((one) => one.startsWith(`${path}/`))) return `${path} is a folder`;
  return found === undefined || found.isFile() ? null : `${path} is no plain file of the repository`;
}

/** What is wrong with where the delivered tests stand. */
export function problemsOfPaths(
  tree: Tree,
  change: readonly FileChange[],
  paths: readonly string[],
): string[] {
  return paths.flatMap((path) => {
    const others = paths.filter((other) => other !== path);
    const collision = collisionOf(path, tree, change, others);
    if (collision !== null) return [`tests: ${collision}`];
    if (tree.entry.sources.includes(path)) return [`tests: ${path} is a source, no test`];
    // One that is there may be replaced with the tests that it serves.
    const known = nameOf(path) === "conftest.py" && kindAt(tree, path) !== undefined;
    if (STEERS.test(nameOf(path)) && !known)
      return [`tests: ${path} is no test: it says how tools install, load or run the package`];
    if (!isTestPath(path, tree))
      return [
        `tests: ${path} does not stand where the package's tests do (${tree.entry.tests.slice(0, 3).join(", ")})`,
      ];
    const user = change.find((one) => loads(one, path));
    return user === undefined
      ? []
      : [`tests: ${user.path} loads ${path}: the solution must do without the hidden tests`];
  });
}

/** Whether a source names a delivered file as what it loads: by its relative path, or as a Python module. */
function loads(change: FileChange, test: string): boolean {
  if (change.kind !== "write" || change.encoding !== "utf8") return false;
  const stem = (path: string) => path.replace(/(\/index)?\.\w+$/, "");
  if (test.endsWith(".py")) {
    const module = stem(nameOf(test));
    return [...change.content.matchAll(/^\s*(?:from|import)\s+(.+)$/gm)].some(([, names]) =>
      names!.split(/[\s,.]+/).includes(module),
    );
  }
  return [...change.content.matchAll(/["'`](\.\.?\/[^"'`\n]*)["'`]/g)].some(([, written]) => {
    const path = posix.join(folderOf(change.path), written!);
    return path === test || path === stem(test) || stem(path) === stem(test);
  });
}
