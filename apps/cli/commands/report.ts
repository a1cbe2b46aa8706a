/** `report`: one self-contained HTML page about an experiment. */
import { writeFile } from "node:fs/promises";
import type { Command } from "commander";
import { wantsJson } from "../command.ts";
import { writeJson, writeLine } from "../output.ts";

export function register(program: Command): void {
  program
    .command("report")
    .description(
      "write an experiment's report: one self-contained HTML page with plots and example trajectories",
    )
    .argument("<name>", "name of the experiment (tadpole list)")
    .option("--out <file>", "file to write (default: <name>.html in the current folder)")
    .addHelpText("after", "\nExample:\n  $ tadpole report quickstart-1 --out report.html")
    .action(async (name: string, options: { readonly out?: string }, command: Command) => {
      const { readReport, withRecord } = await import("../../control/index.ts");
      const { renderReport } = await import("../../report/index.ts");
      const { workflowLink } = await import("../experiment-view.ts");
      const file = options.out ?? `${name}.html`;
      const page = await withRecord(async (session) => {
        const href = workflowLink(session, name);
        return renderReport(
          await readReport(session, name),
          href === null ? [] : [{ text: "Temporal UI", href }],
        );
      });
      await writeFile(file, page);
      if (wantsJson(command)) writeJson({ name, file, bytes: Buffer.byteLength(page) });
      else writeLine(`wrote ${file}`);
    });
}
