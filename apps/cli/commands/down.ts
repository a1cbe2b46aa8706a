/** `tadpole down`: stops the stack and leaves nothing running. */
import type { Command } from "commander";
import { dataFolder, stopStack } from "../../../infra/stack/index.ts";
import { examples, wantsJson } from "../command.ts";
import { writeJson, writeLine } from "../output.ts";

export function register(program: Command): void {
  const command = program
    .command("down")
    .description("stop the stack; experiments keep their state and go on at the next up")
    .action(async (_options: unknown, command: Command) => {
      const folder = dataFolder();
      const result = await stopStack(folder);
      if (wantsJson(command)) return writeJson(result);
      writeLine(result.stopped ? `The stack in ${folder} is stopped.` : `No stack runs in ${folder}.`);
      if (result.leftovers > 0)
        writeLine(`Processes that had outlived their supervisor: ${result.leftovers}.`);
    });
  examples(command, ["down", "down --json"]);
}
