/** Which paths of a tree belong to the grader, and how they are put back. Pure. */
import type { FileChange } from "../../core/task.ts";
import { modulesMount } from "../environments/index.ts";
import type { CatalogueEntry } from "../environments/types.ts";
import type { SandboxSpec } from "../sandbox/index.ts";

/** Files outside test folders that steer how tests are found or run. */
const CONFIGURATION = ["package.json", ".npmrc", ".node-version"];

const MODULES = "node_modules";

/**
 * Folders and files that are mounted read-only over the graded tree: each test file's folder when no source lies in it,
 * the file alone otherwise. A mounted folder hides whatever the change put there, and cannot be written by what is tested.
 */
export function testMounts(entry: Pick<CatalogueEntry, "sources" | "tests">): readonly string[] {
  const paths = entry.tests.map((test) => {
    const folder = test.includes("/") ? test.slice(0, test.indexOf("/")) : "";
    const shared = folder === "" || entry.sources.some((source) => source.startsWith(`${folder}/`));
    return shared ? test : folder;
  });
  return [...new Set(paths)].sort();
}

/** A change without what it may not decide: tests, test configuration, modules. */
export function withoutProtected(
  change: readonly FileChange[],
  entry: Pick<CatalogueEntry, "sources" | "tests">,
): FileChange[] {
  const roots = [MODULES, ...testMounts(entry)];
  return change.filter(
    ({ path }) =>
      !CONFIGURATION.includes(path) &&
      !roots.some((root) => path === root || path.startsWith(`${root}/`) || root.startsWith(`${path}/`)),
  );
}

/** The read-only mounts of a test run. */
export function mountsOf(environment: {
  readonly root: string;
  readonly modules: string;
  readonly entry: Pick<CatalogueEntry, "sources" | "tests">;
}): SandboxSpec["mounts"] {
  return [
    modulesMount(environment),
    ...testMounts(environment.entry).map((path) => ({
      source: `${environment.root}/${path}`,
      target: `/repo/${path}`,
    })),
  ];
}
