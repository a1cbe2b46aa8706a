/** `resume`: ends the hold of an experiment, whatever its reason. */
import type { Command } from "commander";
import { examples } from "../command.ts";
import { requestOf, type SteeringOptions, withRequest, writeSteering } from "../steering-view.ts";

export function register(program: Command): void {
  const command = withRequest(
    program
      .command("resume")
      .description("go on with a held experiment, whatever held it")
      .argument("<name>", "name of the experiment (tadpole list)"),
  ).action(async (name: string, options: SteeringOptions, self: Command) => {
    const { resumeExperiment, withRecord } = await import("../../control/index.ts");
    writeSteering(
      self,
      name,
      await withRecord((session) => resumeExperiment(session, name, { request: requestOf(options) })),
    );
  });
  examples(command, ["resume quickstart-1"]);
}
