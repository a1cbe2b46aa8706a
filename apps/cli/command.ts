/** What every command file shares: how it is registered, its global flags, its examples. */
import type { Command } from "commander";
import { InterruptedError } from "./errors.ts";

/** A file in `commands/` exports this; heavy imports belong inside the action, so that `--help` stays quick. */
export interface CommandModule {
  register(program: Command): void;
}

/** True when `--json` stands anywhere on the command line. */
export function wantsJson(command: Command): boolean {
  return command.optsWithGlobals<{ json?: boolean }>().json === true;
}

/** `work` with a signal that is aborted by Ctrl-C or a request to end: what it started elsewhere ends with it. Throws InterruptedError. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const { signal } = controller;
  const stop = () => controller.abort(new InterruptedError());
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, stop);
  try {
    return await work(signal);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, stop);
  }
}

/** Ends a command's help with its examples. */
export function examples(command: Command, lines: readonly string[]): void {
  command.addHelpText("after", `\nExamples:\n${lines.map((line) => `  $ tadpole ${line}`).join("\n")}`);
}
