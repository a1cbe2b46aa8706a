/** `list`: every experiment on record. */
import type { Command } from "commander";
import { wantsJson } from "../command.ts";
import { formatTable, writeJson, writeLine } from "../output.ts";

export function register(program: Command): void {
  program
    .command("list")
    .description("list the experiments on record, newest first")
    .addHelpText("after", "\nExample:\n  tadpole list --json")
    .action(async (_options: unknown, command: Command) => {
      const { listExperiments } = await import("../../../services/store/index.ts");
      const { withRecord } = await import("../../control/index.ts");
      const experiments = await withRecord(({ db }) => listExperiments(db));
      if (wantsJson(command)) return writeJson(experiments);
      if (experiments.length === 0) return writeLine("No experiment yet: tadpole run quickstart starts one.");
      writeLine(
        formatTable(experiments, [
          { title: "name", value: ({ name }) => name },
          { title: "seed", align: "right", value: ({ seed }) => seed },
          { title: "status", value: ({ status }) => status },
          { title: "iterations", align: "right", value: ({ iterations }) => iterations },
          { title: "created", value: ({ createdAt }) => createdAt },
        ]),
      );
    });
}
