/** `replay`: a further try of an iteration, from the same pinned input. */
import { type Command, Option } from "commander";
import { REPLAY_PHASES, type ReplayPhase } from "../../../core/reuse.ts";
import type { PlannedPieces } from "../../control/replay-plan.ts";
import { examples, wantsJson } from "../command.ts";
import { exitCodes, UsageError } from "../errors.ts";
import { type Column, formatTable, writeJson, writeLine } from "../output.ts";
import { requestOf, type SteeringOptions, withRequest } from "../steering-view.ts";

interface CommandOptions extends SteeringOptions {
  readonly from?: ReplayPhase;
  readonly with: readonly string[];
  readonly dryRun: boolean;
  readonly wait: boolean;
  readonly continue: boolean;
}

const columns: readonly Column<PlannedPieces>[] = [
  { title: "phase", value: ({ phase }) => phase },
  { title: "pieces", value: ({ piece }) => piece },
  { title: "re-used", align: "right", value: ({ reused }) => reused },
  { title: "made anew", align: "right", value: ({ redone }) => redone },
];

export function register(program: Command): void {
  const replay = program
    .command("replay")
    .description(
      "run an iteration again as a further try: what it had finished is taken over where it still matches",
    )
    .argument("<experiment>", "name of the experiment (tadpole list)")
    .argument("<iteration>", "number of the iteration, from 1 on")
    .addOption(new Option("--from <phase>", "make this phase and all later ones anew").choices(REPLAY_PHASES))
    .option(
      "--with <path=value>",
      "override one setting in this try; may be repeated",
      (value: string, all: string[]) => [...all, value],
      [],
    )
    .option("--continue", "run the later iterations again too", false)
    .option("--dry-run", "show what would be re-used and made anew; start nothing", false)
    .option("--wait", "follow it to its end, then show what it took over", false);
  const command = withRequest(replay).action(
    async (name: string, number: string, options: CommandOptions, self: Command) => {
      const { planReplay, replayCounts, startReplay, withRecord } = await import("../../control/index.ts");
      const { follow } = await import("../watch.ts");
      const json = wantsJson(self);
      const iteration = wholeNumber(number);
      const wanted = { from: options.from ?? null, with: options.with, continue: options.continue };
      await withRecord(async (session) => {
        if (options.dryRun) {
          const plan = await planReplay(session, name, iteration, wanted);
          if (json) return writeJson(plan);
          writeLine(
            `try ${plan.try} of iteration ${iteration} would run from the input of try ${plan.base}:`,
          );
          return writeLine(formatTable(plan.pieces, columns));
        }
        const request = requestOf(options);
        const started = await startReplay(session, name, iteration, { ...wanted, request });
        if (!json) {
          writeLine(`try ${started.scope.try} of iteration ${iteration} starts from what is there:`);
          writeLine(formatTable(started.plan.pieces, columns));
        }
        if (!options.wait) {
          if (json) writeJson(started);
          else writeLine(`\ntadpole watch ${name} follows it`);
          return;
        }
        process.exitCode = await follow(session, name, json);
        if (json || process.exitCode !== exitCodes.done) return;
        writeLine(`\ntry ${started.scope.try} of iteration ${iteration} came to its end:`);
        writeLine(formatTable(await replayCounts(session, started.scope), columns));
      });
    },
  );
  examples(command, [
    "replay quickstart-1 2 --dry-run",
    "replay quickstart-1 2 --wait",
    "replay quickstart-1 2 --from update --with optimizer.learningRate=0.1",
  ]);
}

function wholeNumber(text: string): number {
  if (/^[1-9][0-9]{0,8}$/.test(text)) return Number(text);
  throw new UsageError(`<iteration> ${JSON.stringify(text)}: expected a whole number from 1 on`);
}
