/** `skip`: ends the current phase of an experiment with what it has. */
import { type Command, Option } from "commander";
import { SKIPPABLE, type SkipRequest } from "../../../core/steering.ts";
import { examples } from "../command.ts";
import { requestOf, type SteeringOptions, withRequest, writeSteering } from "../steering-view.ts";

type CommandOptions = SteeringOptions & Pick<SkipRequest, "phase">;

export function register(program: Command): void {
  const command = withRequest(
    program
      .command("skip")
      .description(
        "end the current phase with what it has: the pool's admitted tasks, the climb's updates so far",
      )
      .argument("<name>", "name of the experiment (tadpole list)")
      .addOption(
        new Option("--phase <phase>", "the phase that is meant: refused where another is in hand").choices(
          SKIPPABLE,
        ),
      ),
  ).action(async (name: string, options: CommandOptions, self: Command) => {
    const { skipPhase, withRecord } = await import("../../control/index.ts");
    const { phase } = options;
    const request = { request: requestOf(options), ...(phase === undefined ? {} : { phase }) };
    writeSteering(self, name, await withRecord((session) => skipPhase(session, name, request)));
  });
  examples(command, ["skip quickstart-1", "skip quickstart-1 --phase climb"]);
}
