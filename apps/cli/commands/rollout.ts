/** `rollout list | show`: the rollouts made so far; one trajectory, turn by turn. */
import type { Command } from "commander";
import { FILTERS } from "../../control/filters.ts";
import { wantsJson } from "../command.ts";
import { listCommand } from "../list-view.ts";
import { writeJson, writeLine } from "../output.ts";

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
      const { row, trajectory, flags } = detail;
      writeLine(`rollout ${key} · ${row.task_id} at level ${row.level} · ${row.policy}`);
      writeLine(
        `${row.exit} after ${row.turns} turns · ${row.outcome ?? "not graded yet"}${row.rule === null ? "" : ` (${row.rule})`} · reward ${row.reward ?? "–"}`,
      );
      if (flags !== null && flags.length > 0) writeLine(`flagged: ${flags.join(", ")}`);
      for (const message of trajectory.messages) {
        writeLine();
        writeLine(`[${message.role}] ${message.content ?? ""}`.trimEnd());
        if (message.role === "assistant")
          for (const call of message.toolCalls ?? []) writeLine(`→ ${call.name} ${call.arguments}`);
      }
    });
}
