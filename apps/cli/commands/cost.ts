/** `cost`: what an experiment used and paid, and what for. */
import type { Command } from "commander";
import { COST_GROUPINGS, type CostGrouping } from "../../../core/cost.ts";
import { examples, wantsJson } from "../command.ts";
import { costText } from "../cost-view.ts";
import { UsageError } from "../errors.ts";
import { writeJson, writeLine } from "../output.ts";

export function register(program: Command): void {
  const command = program
    .command("cost")
    .description("show what an experiment cost: tokens by class, sandbox hours, money, and what for")
    .argument("<experiment>", "name of the experiment (tadpole list)")
    .option("--by <what>", `${COST_GROUPINGS.join(", ")}`, "phase")
    .action(async (name: string, options: { readonly by: string }, self: Command) => {
      const by = readGrouping(options.by);
      const { showCost, withRecord } = await import("../../control/index.ts");
      const cost = await withRecord((session) => showCost(session, name, by));
      if (wantsJson(self)) writeJson(cost);
      else writeLine(costText(cost));
    });
  examples(command, ["cost quickstart-1", "cost quickstart-1 --by generator --json"]);
}

function readGrouping(by: string): CostGrouping {
  const found = COST_GROUPINGS.find((name) => name === by);
  if (found === undefined)
    throw new UsageError(`--by ${by}: expected ${COST_GROUPINGS.slice(0, -1).join(", ")} or task`);
  return found;
}
