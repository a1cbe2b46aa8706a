/** `task list | show`: the tasks made so far; one with its statements, gates and probes. */
import type { Command } from "commander";
import { type Interval, wilson } from "../../../core/statistics.ts";
import type { GateVerdict } from "../../../services/synthesis/index.ts";
import { FILTERS } from "../../control/filters.ts";
import { wantsJson } from "../command.ts";
import { listCommand, timeOf } from "../list-view.ts";
import { formatPercent, formatTable, writeJson, writeLine } from "../output.ts";

export function register(program: Command): void {
  const task = program.command("task").description("look at the tasks made so far");
  listCommand(task, {
    name: "list",
    description: "list the tasks on record, by id",
    filters: FILTERS.tasks,
    read: (control) => control.tasksPage,
    columns: [
      { title: "task", value: ({ id }) => id },
      { title: "type", value: ({ type }) => type },
      { title: "generator", value: ({ generator }) => generator },
      { title: "environment", value: ({ environment }) => environment },
      { title: "created", value: timeOf },
    ],
    none: "No such task.",
    examples: ["task list --experiment quickstart-1 --type feature", "task list --limit 10 --json"],
  });
  task
    .command("show")
    .description("show a task: what it changes, its statements, gates and probes")
    .argument("<id>", "id of the task, t and 16 hex digits")
    .option("--gold", "also show the gold patch and the hidden tests, which no policy ever sees", false)
    .addHelpText("after", "\nExample:\n  tadpole task show t0123456789abcdef")
    .action(async (id: string, options: { readonly gold: boolean }, command: Command) => {
      const { showTask, withRecord } = await import("../../control/index.ts");
      const detail = await withRecord((session) => showTask(session, id));
      if (wantsJson(command)) return writeJson(detail);
      const { task: found } = detail;
      writeLine(`task ${id} · ${found.type} by ${found.generator} in ${found.environment}`);
      writeLine(`changes ${found.functions.join(", ")}`);
      writeLine(
        `${found.failToPass.length} fail-to-pass and ${found.passToPass.length} pass-to-pass tests, hidden: ${found.hiddenFiles.join(", ")}`,
      );
      for (const statement of detail.statements) {
        writeLine();
        writeLine(`— statement, level ${statement.level} —`);
        writeLine(statement.text);
      }
      if (options.gold) {
        writeLine();
        writeLine("— gold —");
        for (const change of found.gold)
          writeLine(
            change.kind === "write" ? `${change.path}\n${change.content}` : `${change.kind} ${change.path}`,
          );
        writeLine(`fail to pass:\n  ${found.failToPass.join("\n  ")}`);
      }
      for (const { scope, candidate, gates } of detail.validations) {
        writeLine();
        writeLine(`— gates, candidate ${candidate} of ${scope} —`);
        writeLine(
          formatTable(gates as GateVerdict[], [
            { title: "gate", value: ({ gate }) => gate },
            { title: "passed", value: ({ passed }) => (passed ? "yes" : "no") },
            { title: "evidence", value: ({ evidence }) => evidence },
          ]),
        );
      }
      if (detail.probes.length > 0) {
        writeLine();
        writeLine(
          formatTable(detail.probes, [
            { title: "probe of", value: (probe) => probe.scope },
            { title: "level", align: "right", value: (probe) => probe.level },
            { title: "policy", value: (probe) => probe.policy },
            { title: "passes", align: "right", value: (probe) => `${probe.passes}/${probe.runs}` },
            {
              title: "rate",
              align: "right",
              value: ({ rate, passes, runs }) => formatPercent(rate ?? passes / runs),
            },
            { title: "95 %", value: ({ passes, runs }) => percentRange(wilson(passes, runs)) },
            { title: "decision", value: (probe) => probe.decision },
          ]),
        );
      }
    });
}

const percentRange = ({ low, high }: Interval): string =>
  `${Math.round(low * 100)} – ${Math.round(high * 100)} %`;
