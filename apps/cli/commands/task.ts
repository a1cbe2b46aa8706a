/** `task show`: a task with its statements, gates and probes. */
import type { Command } from "commander";
import type { GateVerdict } from "../../../services/synthesis/index.ts";
import { wantsJson } from "../command.ts";
import { formatTable, writeJson, writeLine } from "../output.ts";

export function register(program: Command): void {
  const task = program.command("task").description("look at the tasks made so far");
  task
    .command("show")
    .description("show a task: what it changes, its statements, gates and probes")
    .argument("<id>", "id of the task, t and 16 hex digits")
    .option("--gold", "also show the gold patch and the hidden tests, which no policy ever sees", false)
    .addHelpText("after", "\nExample:\n  tadpole task show t0123456789abcdef")
    .action(async (id: string, options: { readonly gold: boolean }, command: Command) => {
      const { showTask } = await import("../../../services/store/index.ts");
      const { withRecord } = await import("../../control/index.ts");
      const detail = await withRecord(({ db, artifacts }) => showTask(db, artifacts, id));
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
            { title: "decision", value: (probe) => probe.decision },
          ]),
        );
      }
    });
}
