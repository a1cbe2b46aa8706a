/** Leaf: five tools and one loop. */
import type { Sandbox } from "../sandbox/runtime.ts";
import { runTool as runToolIn } from "./tools/index.ts";
import type { Arguments } from "./tools/python.ts";
import type { ToolContext } from "./tools/tool.ts";

export { createCommandCache } from "./command-cache.ts";
export { runRollout } from "./loop.ts";
export { HARNESS_VERSION } from "./prompt.ts";
export { isWhereLeft, replayCalls } from "./restore.ts";
export { segmentsOf } from "./segments.ts";
export { parseArguments, TOOL_DEFINITIONS } from "./tools/index.ts";
export type { CommandCache, LedgerTurn, RolloutOutcome, RolloutRequest } from "./types.ts";

/** One tool call outside of a rollout. Text for the model; throws only when the sandbox itself failed. */
export function runTool(
  sandbox: Sandbox,
  name: string,
  args: Arguments,
  limits: Pick<ToolContext, "signal" | "commandCpuSeconds"> = {},
): Promise<string> {
  return runToolIn({ sandbox, ...limits }, name, args);
}
