/** `skip`: ends the current phase of an experiment with what it has. */
import type { Command } from "commander";
import { examples } from "../command.ts";
import { requestOf, type SteeringOptions, withRequest, writeSteering } from "../steering-view.ts";

export function register(program: Command): void {
  const command = withRequest(
    program
      .command("skip")
      .description(
        "end the current phase with what it has: the pool's admitted tasks, the climb's updates so far",
      )
      .argument("<name>", "name of the experiment (tadpole list)"),
  ).action(async (name: string, options: SteeringOptions, self: Command) => {
    const { skipPhase, withRecord } = await import("../../control/index.ts");
    writeSteering(
      self,
      name,
      await withRecord((session) => skipPhase(session, name, { request: requestOf(options) })),
    );
  });
  examples(command, ["skip quickstart-1"]);
}
