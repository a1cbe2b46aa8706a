/** What a Leaf tool is. */
import type { ToolDefinition } from "../../policy/template.ts";
import type { Sandbox } from "../../sandbox/runtime.ts";
import type { Arguments } from "./python.ts";

/** Results of commands on trees they leave as they are; see `reuse.ts`. */
export interface CommandReuse {
  /** The earlier result, where the present tree and scratch space allow its use. */
  recall(key: string): Promise<string | undefined>;
  /** Called after a command that ran to its end with its whole output. */
  remember(key: string, result: string): Promise<void>;
}

export interface ToolContext {
  readonly sandbox: Sandbox;
  readonly signal?: AbortSignal;
  readonly reuse?: CommandReuse;
  /** CPU seconds a command may use, all its processes together; none when absent. */
  readonly commandCpuSeconds?: number;
}

export interface Tool {
  readonly definition: ToolDefinition;
  /** Throws ToolError for what the model did wrong, SandboxError when the sandbox itself failed. */
  run(context: ToolContext, args: Arguments): Promise<string>;
}

type Property = { readonly type: string; readonly description: string };

export function define(
  name: string,
  description: string,
  properties: Readonly<Record<string, Property>>,
  required: readonly string[],
): ToolDefinition {
  return {
    type: "function",
    function: { name, description, parameters: { type: "object", properties, required } },
  };
}
