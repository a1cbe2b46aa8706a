/** `amend`: changes one setting of a running experiment, mostly from its next iteration on. */
import type { Command } from "commander";
import { AMENDABLE } from "../../../core/steering.ts";
import { examples } from "../command.ts";
import { UsageError } from "../errors.ts";
import { requestOf, type SteeringOptions, withRequest, writeSteering } from "../steering-view.ts";

export function register(program: Command): void {
  const command = withRequest(
    program
      .command("amend")
      .description("change one setting of a running experiment, most of them from its next iteration on")
      .argument("<name>", "name of the experiment (tadpole list)")
      .argument("<path=value>", "the setting and its new value"),
  )
    .addHelpText("after", `\nAmendable: ${Object.keys(AMENDABLE).join(", ")}.`)
    .action(async (name: string, assignment: string, options: SteeringOptions, self: Command) => {
      const { path, value } = parseAmendment(assignment);
      const { amendExperiment, withRecord } = await import("../../control/index.ts");
      const state = await withRecord((session) =>
        amendExperiment(session, name, { request: requestOf(options), path, value }),
      );
      writeSteering(self, name, state);
    });
  examples(command, ["amend quickstart-1 climb.updates=16", "amend quickstart-1 evaluation.greedy=false"]);
}

/** Amendable settings are numbers and booleans alone. */
function parseAmendment(text: string): { readonly path: string; readonly value: number | boolean } {
  const [, path, word] = /^([^=]+)=(true|false|[-+]?[\d.]+(?:e[-+]?\d+)?)$/i.exec(text) ?? [];
  if (path === undefined || word === undefined)
    throw new UsageError(`${text}: expected PATH=VALUE with a number, true or false, as in climb.updates=16`);
  const value = /^[tf]/i.test(word) ? word.toLowerCase() === "true" : Number(word);
  return { path, value };
}
