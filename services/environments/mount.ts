/** Where an environment's modules lie in a sandbox. */
import { languageOf, PYTHON_TARGET } from "./frameworks.ts";
import type { PreparedEnvironment } from "./types.ts";

/** Go looks for dependencies there by itself, Node too; Python is told by PYTHONPATH. */
const TARGETS = {
  node: "/repo/node_modules",
  python: PYTHON_TARGET,
  go: "/repo/vendor",
  other: "/opt/modules",
} as const;

/** The read-only mount of the test tools and dependencies. */
export function modulesMount({ entry, modules }: Pick<PreparedEnvironment, "entry" | "modules">): {
  readonly source: string;
  readonly target: string;
} {
  return { source: modules, target: TARGETS[languageOf(entry)] };
}
