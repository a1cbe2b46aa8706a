/** The commands of a test run. Pure. */
import type { TestCommand } from "../../core/task.ts";
import type { TestRunRequest } from "./types.ts";

/** The verifier's commands, or those of the environment whose scope is asked for. */
export function commandsOf({
  environment,
  files,
  verifier,
}: Pick<TestRunRequest, "environment" | "files" | "verifier">): readonly TestCommand[] {
  if (verifier !== undefined) return verifier.commands;
  const { commands } = environment;
  return files === undefined ? commands : commands.filter(({ scope }) => files.includes(scope));
}
