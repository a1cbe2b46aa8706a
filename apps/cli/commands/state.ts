/** `state`: where an experiment stands, as it says itself. */
import type { Command } from "commander";
import { examples } from "../command.ts";
import { writeSteering } from "../steering-view.ts";

export function register(program: Command): void {
  const command = program
    .command("state")
    .description("where an experiment stands: phase, hold and amendments")
    .argument("<name>", "name of the experiment (tadpole list)")
    .action(async (name: string, _options: unknown, self: Command) => {
      const { steeringState, withRecord } = await import("../../control/index.ts");
      writeSteering(self, name, await withRecord((session) => steeringState(session, name)));
    });
  examples(command, ["state quickstart-1", "state quickstart-1 --json"]);
}
