/** The five tools of Leaf, by name. */
import type { ToolDefinition } from "../../policy/template.ts";
import { bash } from "./bash.ts";
import { edit } from "./edit.ts";
import { glob } from "./glob.ts";
import { type Arguments, ToolError } from "./python.ts";
import { read } from "./read.ts";
import type { Tool, ToolContext } from "./tool.ts";
import { write } from "./write.ts";

const ALL: readonly Tool[] = [read, write, edit, glob, bash];
const BY_NAME: ReadonlyMap<string, Tool> = new Map(ALL.map((tool) => [tool.definition.function.name, tool]));

export const TOOL_DEFINITIONS: readonly ToolDefinition[] = ALL.map((tool) => tool.definition);

/** A call's arguments as the model wrote them; whatever is no JSON object is an empty one. */
export function parseArguments(text: string): Arguments {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Arguments) : {};
  } catch {
    return {};
  }
}

/** Text for the model, whatever the name and arguments are. Throws only when the sandbox itself failed. */
export async function runTool(context: ToolContext, name: string, args: Arguments): Promise<string> {
  const tool = BY_NAME.get(name);
  if (!tool) return `Unknown tool: ${name}`;
  try {
    return await tool.run(context, args);
  } catch (error) {
    if (error instanceof ToolError) return `${error.pythonName}: ${error.message}`;
    throw error;
  }
}
