/** The calls of a turn, run in order. */
import type { ToolCall } from "../../core/trajectory.ts";
import { parseArguments, runTool } from "./tools/index.ts";
import type { ToolContext } from "./tools/tool.ts";
import { commandReuse, type TreeWatch } from "./tree.ts";
import type { RolloutRequest } from "./types.ts";

/** Tools that may change the working tree. Read and Glob cannot. */
export const CHANGES_TREE: ReadonlySet<string> = new Set(["Write", "Edit", "Bash"]);

export type CallSettings = Pick<RolloutRequest, "sandbox" | "signal" | "commandCpuSeconds" | "commandCache">;

export function toolContext(settings: CallSettings, tree: TreeWatch): ToolContext {
  const { sandbox, signal, commandCpuSeconds, commandCache } = settings;
  return {
    sandbox,
    ...(signal ? { signal } : {}),
    ...(commandCpuSeconds === undefined ? {} : { commandCpuSeconds }),
    ...(commandCache ? { reuse: commandReuse(sandbox, commandCache, tree) } : {}),
  };
}

/** Results of calls, in order; fewer than calls when the rollout is cancelled between two of them. */
export async function runCalls(
  context: ToolContext,
  calls: readonly ToolCall[],
  tree: TreeWatch,
): Promise<readonly string[]> {
  const results: string[] = [];
  for (const call of calls) {
    if (context.signal?.aborted) break;
    const result = await runTool(context, call.name, parseArguments(call.arguments));
    // A remembered command has looked at the tree itself.
    if (CHANGES_TREE.has(call.name) && !(call.name === "Bash" && context.reuse)) tree.touched();
    results.push(result);
  }
  return results;
}
