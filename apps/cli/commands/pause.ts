/** `pause`: holds an experiment, so that nothing new begins and what can stop does. */
import type { Command } from "commander";
import { examples } from "../command.ts";
import { exitCodes } from "../errors.ts";
import {
  requestOf,
  type SteeringOptions,
  untilStatus,
  withRequest,
  writeSteering,
} from "../steering-view.ts";

interface PauseOptions extends SteeringOptions {
  readonly reason: string;
  readonly wait: boolean;
}

export function register(program: Command): void {
  const command = withRequest(
    program
      .command("pause")
      .description("hold an experiment; nothing is lost, and it stays held until tadpole resume")
      .argument("<name>", "name of the experiment (tadpole list)")
      .requiredOption("--reason <text>", "why, for whoever looks at it")
      .option("--wait", "return once nothing of it runs any more", false),
  ).action(async (name: string, options: PauseOptions, self: Command) => {
    const { pauseExperiment, withRecord } = await import("../../control/index.ts");
    const { reason, wait } = options;
    const state = await withRecord(async (session) => {
      const accepted = await pauseExperiment(session, name, { request: requestOf(options), reason });
      return wait ? untilStatus(session, name, "paused") : accepted;
    });
    writeSteering(self, name, state);
    if (wait && state.status !== "paused") process.exitCode = exitCodes.failed;
  });
  examples(command, [
    'pause quickstart-1 --reason "host is serviced"',
    'pause quickstart-1 --reason "host is serviced" --wait && tadpole down',
  ]);
}
