/** Where an environment's modules lie in a sandbox. */
import type { PreparedEnvironment } from "./types.ts";

/** The read-only mount of the test tools and dependencies. */
export function modulesMount({ modules }: Pick<PreparedEnvironment, "modules">): {
  readonly source: string;
  readonly target: string;
} {
  return { source: modules, target: "/repo/node_modules" };
}
