/** All hand-made tasks (see types.ts). */
import { BUG } from "./bug.ts";
import { FEATURE } from "./feature.ts";
import { MIGRATION } from "./migration.ts";
import { PERFORMANCE } from "./performance.ts";
import { REFACTOR } from "./refactor.ts";
import type { Authored } from "./types.ts";

export { type Authored, candidateOf, changesOf, type Edit } from "./types.ts";

export const AUTHORED: readonly Authored[] = [...BUG, ...FEATURE, ...REFACTOR, ...MIGRATION, ...PERFORMANCE];

export function authoredCalled(name: string): Authored {
  const found = AUTHORED.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no hand-made task is called ${name}`);
  return found;
}
