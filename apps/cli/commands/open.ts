/** `open`: where the Temporal UI shows an experiment. */
import type { Command } from "commander";
import { examples, wantsJson } from "../command.ts";
import { UsageError } from "../errors.ts";
import { writeJson, writeLine } from "../output.ts";

export function register(program: Command): void {
  const command = program
    .command("open")
    .description("print the links of an experiment in the Temporal UI")
    .argument("<name>", "name of the experiment (tadpole list)")
    .action(async (name: string, _options: unknown, self: Command) => {
      const { experimentSettings, withRecord } = await import("../../control/index.ts");
      const { listLink, workflowLink } = await import("../experiment-view.ts");
      const links = await withRecord(async (session) => {
        await experimentSettings(session, name);
        return {
          experiment: workflowLink(session, name),
          workflows: listLink(session, name),
          running: listLink(session, name, true),
        };
      });
      if (links.experiment === null)
        throw new UsageError(
          "the address of this Temporal cluster's UI is not known: its stack runs elsewhere; the workflow's id is exp/" +
            name,
        );
      if (wantsJson(self)) return writeJson(links);
      writeLine(`experiment: ${links.experiment}`);
      writeLine(`all its workflows: ${links.workflows}`);
      writeLine(`those that run now: ${links.running}`);
    });
  examples(command, ["open quickstart-1"]);
}
