/** `tadpole up`: starts the stack, or joins it where it runs. */
import type { Command } from "commander";
import { dataFolder, ensureStack, stackStatus } from "../../../infra/stack/index.ts";
import { examples, wantsJson } from "../command.ts";
import { writeJson, writeLine } from "../output.ts";
import { stackProgress } from "../stack-progress.ts";

export function register(program: Command): void {
  const command = program
    .command("up")
    .description("start the stack (Temporal, Postgres, policy server, workers), or join it where it runs")
    .action(async (_options: unknown, command: Command) => {
      const json = wantsJson(command);
      const state = await ensureStack({ dataFolder: dataFolder(), onProgress: stackProgress(json) });
      if (json) return writeJson(stackStatus(state.dataFolder));
      const { address, ui } = state.temporal;
      writeLine(
        `The stack in ${state.dataFolder} runs: Temporal at ${address}${ui ? `, its UI at ${ui}` : ""}.`,
      );
      writeLine("tadpole status shows its processes, tadpole down stops it.");
    });
  examples(command, ["up", "up --json"]);
}
