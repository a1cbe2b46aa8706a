/** `show`: one experiment: evaluations, pools, policy, timings. */
import type { Command } from "commander";
import { wantsJson } from "../command.ts";

export function register(program: Command): void {
  program
    .command("show")
    .description("show an experiment: pass@1 per iteration, pools, policy, timings")
    .argument("<name>", "name of the experiment (tadpole list)")
    .addHelpText("after", "\nExample:\n  tadpole show quickstart-1 --json")
    .action(async (name: string, _options: unknown, command: Command) => {
      const { withRecord } = await import("../../control/index.ts");
      const { writeExperiment } = await import("../experiment-view.ts");
      await withRecord((session) => writeExperiment(session, name, wantsJson(command)));
    });
}
