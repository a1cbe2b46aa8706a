/** What every command file shares: how it is registered, its global flags, its examples. */
import type { Command } from "commander";

/** A file in `commands/` exports this; heavy imports belong inside the action, so that `--help` stays quick. */
export interface CommandModule {
  register(program: Command): void;
}

/** True when `--json` stands anywhere on the command line. */
export function wantsJson(command: Command): boolean {
  return command.optsWithGlobals<{ json?: boolean }>().json === true;
}

/** Ends a command's help with its examples. */
export function examples(command: Command, lines: readonly string[]): void {
  command.addHelpText("after", `\nExamples:\n${lines.map((line) => `  $ tadpole ${line}`).join("\n")}`);
}
