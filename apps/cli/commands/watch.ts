/** `watch`: follows a running experiment. */
import type { Command } from "commander";
import { wantsJson } from "../command.ts";

export function register(program: Command): void {
  program
    .command("watch")
    .description("follow an experiment until it ends")
    .argument("<name>", "name of the experiment (tadpole list)")
    .addHelpText("after", "\nExample:\n  tadpole watch quickstart-1")
    .action(async (name: string, _options: unknown, command: Command) => {
      const { withRecord } = await import("../../control/index.ts");
      const { follow } = await import("../watch.ts");
      process.exitCode = await withRecord((session) => follow(session, name, wantsJson(command)));
    });
}
