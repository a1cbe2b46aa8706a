/** `stop`: an experiment comes to an orderly end with what it has. */
import type { Command } from "commander";
import { examples, wantsJson } from "../command.ts";
import { requestOf, type SteeringOptions, withRequest, writeSteering } from "../steering-view.ts";

interface StopOptions extends SteeringOptions {
  readonly wait: boolean;
}

export function register(program: Command): void {
  const command = withRequest(
    program
      .command("stop")
      .description("end an experiment: its phase ends early, the best checkpoint so far is selected")
      .argument("<name>", "name of the experiment (tadpole list)")
      .option("--wait", "follow it to its end and show its result", false),
  ).action(async (name: string, options: StopOptions, self: Command) => {
    const { stopExperiment, withRecord } = await import("../../control/index.ts");
    const { follow } = await import("../watch.ts");
    await withRecord(async (session) => {
      const accepted = await stopExperiment(session, name, { request: requestOf(options) });
      if (options.wait) process.exitCode = await follow(session, name, wantsJson(self));
      else writeSteering(self, name, accepted);
    });
  });
  examples(command, ["stop quickstart-1", "stop quickstart-1 --wait"]);
}
