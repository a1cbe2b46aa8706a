/** `imports list | show | verify | remove`: the tasks that were read from files of other projects. */
import type { Command } from "commander";
import { FILTERS } from "../../control/filters.ts";
import { interruptible, wantsJson } from "../command.ts";
import { exitCodes } from "../errors.ts";
import { listCommand, timeOf } from "../list-view.ts";
import { ProgressLine, writeJson, writeLine } from "../output.ts";

export function register(program: Command): void {
  const imports = program
    .command("imports")
    .description("look at the tasks that were imported, prove them, and remove them");
  listCommand(imports, {
    name: "list",
    description: "list the imported tasks, by key",
    filters: FILTERS.imports,
    read: (control) => control.importsPage,
    columns: [
      { title: "key", value: ({ key }) => key },
      { title: "format", value: ({ format }) => format },
      { title: "task", value: ({ source_id }) => source_id },
      { title: "image", value: ({ image }) => image },
      { title: "fail to pass", align: "right", value: ({ fail_to_pass }) => fail_to_pass },
      { title: "pass to pass", align: "right", value: ({ pass_to_pass }) => pass_to_pass },
      { title: "gold", value: ({ gold }) => (gold ? "yes" : "no") },
      { title: "imported", value: timeOf },
    ],
    none: "Nothing was imported: tadpole import reads tasks.",
    examples: ["imports list --format swe-bench", "imports list --json"],
  });
  imports
    .command("show")
    .description("show an imported task: its statement, its image and what judges it")
    .argument("<key>", "key of the import, i and 16 hex digits")
    .option("--gold", "also show the solution and the tests, which no policy ever sees", false)
    .addHelpText("after", "\nExample:\n  tadpole imports show i0123456789abcdef")
    .action(async (key: string, options: { readonly gold: boolean }, command: Command) => {
      const { showImport, withRecord } = await import("../../control/index.ts");
      const detail = await withRecord((session) => showImport(session, key));
      if (wantsJson(command)) return writeJson(detail);
      const { row, task } = detail;
      const origin = row.origin as { readonly file: string; readonly row: number | null };
      writeLine(`import ${key} · ${row.format} ${row.source_id}`);
      writeLine(`read from ${origin.file}${origin.row === null ? "" : `, row ${origin.row}`}`);
      writeLine(`image ${row.image}, working tree ${task.environment.workdir ?? "the image's own"}`);
      writeLine(`${row.fail_to_pass} fail-to-pass and ${row.pass_to_pass} pass-to-pass tests`);
      for (const { argv, format } of task.verifier.commands) writeLine(`runs ${argv.join(" ")} (${format})`);
      if (task.verifierBox !== undefined) {
        const { image, artifacts } = task.verifierBox;
        writeLine(
          `in a box of ${image.kind === "image" ? image.reference : "its own Dockerfile"}, which has`,
        );
        for (const { source } of artifacts) writeLine(`  ${source}`);
      }
      for (const note of task.notes) writeLine(`note: ${note}`);
      writeLine();
      writeLine(task.statement.text);
      if (!options.gold) return;
      for (const edit of [task.gold, ...task.tests]) {
        if (edit === null) continue;
        writeLine();
        writeLine(`— ${edit.field}${edit.kind === "diff" && edit.reverse ? ", reversed" : ""} —`);
        writeLine(edit.kind === "diff" ? edit.text : JSON.stringify(edit, null, 2));
      }
    });
  imports
    .command("verify")
    .description("prepare an imported task in Docker and prove it: its solution passes, doing nothing fails")
    .argument("<key>", "key of the import, i and 16 hex digits")
    .addHelpText(
      "after",
      "\nA task that is proven is on record: tadpole task list --generator import\n\nExample:\n  $ tadpole imports verify i0123456789abcdef",
    )
    .action(async (key: string, _options: unknown, command: Command) => {
      const { verifyImport, withRecord } = await import("../../control/index.ts");
      const view = new ProgressLine();
      const log = wantsJson(command) ? {} : { log: (line: string) => view.note(`  ${line}`) };
      const proof = await interruptible((signal) =>
        withRecord((session) => verifyImport(session, key, { signal, ...log })),
      );
      if (!proof.proven) process.exitCode = exitCodes.failed;
      if (wantsJson(command)) return writeJson(proof);
      const shown = (found: typeof proof.gold) =>
        found === null
          ? "is not known"
          : `${found.outcome} (${found.rule})${found.offending.map((name) => `\n    ${name}`).join("")}`;
      writeLine(`environment ${proof.environment}`);
      writeLine(`solution    ${shown(proof.gold)}`);
      writeLine(`nothing     ${shown(proof.nothing)}`);
      writeLine(proof.proven ? `✓ task ${proof.task} is on record` : "✗ not proven: no task is recorded");
    });
  imports
    .command("remove")
    .description(
      "remove an import, or the task that was proven of one; refused while anything on record uses it",
    )
    .argument("<key>", "key of the import (i and 16 hex digits), or id of the task (t and 16 hex digits)")
    .addHelpText(
      "after",
      "\nFiles that nothing needs any more are removed by: tadpole gc\n\nExample:\n  $ tadpole imports remove i0123456789abcdef",
    )
    .action(async (key: string, _options: unknown, command: Command) => {
      const { removeImported, withRecord } = await import("../../control/index.ts");
      const removal = await withRecord((session) => removeImported(session, key));
      if (wantsJson(command)) return writeJson(removal);
      writeLine(`removed ${removal.kind} ${key}`);
    });
}
