/** `events`: what happened in an experiment, oldest first. */
import type { Command } from "commander";
import { examples, wantsJson } from "../command.ts";
import { writeJson, writeLine } from "../output.ts";

export function register(program: Command): void {
  const command = program
    .command("events")
    .description("what happened in an experiment: phases, holds, amendments; 200 at most, oldest first")
    .argument("<name>", "name of the experiment (tadpole list)")
    .option("--after <id>", "only those after the event of this id")
    .action(async (name: string, { after = null }: { readonly after?: string | null }, self: Command) => {
      const { eventId, eventsAfter, withRecord } = await import("../../control/index.ts");
      const events = await withRecord((session) => eventsAfter(session, name, after));
      if (wantsJson(self))
        return writeJson(
          events.map((event) => ({
            id: eventId(name, event),
            kind: event.kind,
            detail: event.detail,
            at: event.created_at,
          })),
        );
      for (const { created_at, kind, detail } of events)
        writeLine(`${created_at.toISOString()}  ${kind}  ${JSON.stringify(detail)}`);
      if (events.length > 0) writeLine(`\nlater ones: --after ${eventId(name, events.at(-1)!)}`);
    });
  examples(command, ["events quickstart-1", "events quickstart-1 --json"]);
}
