/** `rollout list | show`: the rollouts made so far; one trajectory, turn by turn. */
import type { Command } from "commander";
import { FILTERS } from "../../control/filters.ts";
import { wantsJson } from "../command.ts";
import { listCommand } from "../list-view.ts";
import { writeJson } from "../output.ts";
import { writeRollout } from "../rollout-view.ts";

export function register(program: Command): void {
  const rollout = program.command("rollout").description("look at the rollouts made so far");
  listCommand(rollout, {
    name: "list",
    description: "list the rollouts on record, by key",
    filters: FILTERS.rollouts,
    read: (control) => control.rolloutsPage,
    columns: [
      { title: "rollout", value: ({ key }) => key },
      { title: "task", value: ({ task_id }) => task_id },
      { title: "policy", value: ({ policy }) => policy },
      { title: "exit", value: ({ exit }) => exit },
      { title: "turns", align: "right", value: ({ turns }) => turns },
      { title: "outcome", value: ({ outcome }) => outcome },
      { title: "reward", align: "right", value: ({ reward }) => reward },
    ],
    none: "No such rollout.",
    examples: ["rollout list --experiment quickstart-1 --phase climb --outcome passed"],
  });
  rollout
    .command("show")
    .description("show a rollout: its calls, their results, its verdict")
    .argument("<key>", "key of the rollout, as report and task show print it")
    .addHelpText("after", "\nExample:\n  tadpole rollout show quickstart-1/it/1/try/1/climb/3/0/5")
    .action(async (key: string, _options: unknown, command: Command) => {
      const { showRollout, withRecord } = await import("../../control/index.ts");
      const detail = await withRecord((session) => showRollout(session, key));
      if (wantsJson(command)) return writeJson(detail);
      writeRollout(detail);
    });
}
