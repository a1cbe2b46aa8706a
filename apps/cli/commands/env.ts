/** `env list | verify`: the catalogue of real packages, and its proof. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { wantsJson } from "../command.ts";
import { UsageError } from "../errors.ts";
import { formatTable, Progress, writeJson, writeLine } from "../output.ts";

export function register(program: Command): void {
  const env = program
    .command("env")
    .description("look at the environments tasks are made in, and prove them");
  env
    .command("list")
    .description("list the catalogue")
    .action(async (_options: unknown, command: Command) => {
      const { loadCatalogue } = await import("../../../services/environments/index.ts");
      const { entries } = await loadCatalogue();
      if (wantsJson(command)) return writeJson(entries);
      writeLine(
        formatTable(entries, [
          { title: "name", value: ({ name }) => name },
          { title: "role", value: ({ role }) => role },
          { title: "source", value: ({ source }) => source },
          { title: "files", align: "right", value: ({ sources }) => sources.length },
          { title: "test files", align: "right", value: ({ tests }) => tests.length },
        ]),
      );
    });
  env
    .command("verify")
    .description(
      "prepare environments anew from the registry and compare: tree, modules, every test's status",
    )
    .argument("[names...]", "environments to verify (default: all of the catalogue)")
    .addHelpText("after", "\nExample:\n  $ tadpole env verify minimist")
    .action(async (names: readonly string[], _options: unknown, command: Command) => {
      process.exitCode = await verify(names, wantsJson(command));
    });
}

async function verify(wanted: readonly string[], json: boolean): Promise<number> {
  const { loadCatalogue, verifyEnvironment } = await import("../../../services/environments/index.ts");
  const { createGrading } = await import("../../../services/grading/index.ts");
  const { createProcessRuntime } = await import("../../../services/sandbox/index.ts");
  const { dataFolder, prepareDataFolder } = await import("../../../infra/stack/index.ts");
  const catalogue = await loadCatalogue();
  const known = catalogue.entries.map((entry) => entry.name);
  const unknown = wanted.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`no environment "${unknown}" in the catalogue: ${known.join(", ")}`);
  const folder = prepareDataFolder(dataFolder());
  const runtime = createProcessRuntime({ root: join(folder, "sandboxes"), nodePath: process.execPath });
  const grading = createGrading({ runtime });
  const scratchFolder = await mkdtemp(join(tmpdir(), "tadpole-verify-"));
  const view = new Progress();
  const results = [];
  try {
    for (const name of wanted.length > 0 ? wanted : known) {
      const result = await verifyEnvironment({
        name,
        catalogue,
        dataFolder: folder,
        scratchFolder,
        runTests: (request) => grading.runTests(request, "cold"),
        ...(json ? {} : { log: (line: string) => view.note(`  ${line}`) }),
      }).catch((error: Error) => ({ key: name, error: error.message }));
      results.push(result);
      if (json) continue;
      if ("error" in result) writeLine(`✗ ${name}: ${result.error}`);
      else if (result.differences.length > 0) writeLine(`✗ ${name}: ${result.differences.join("; ")}`);
      else
        writeLine(
          `✓ ${result.key}: ${result.tests} tests, no flake seen in ${result.runs} runs (rate < ${result.flakeBound.toFixed(2)} at 95 %)`,
        );
    }
  } finally {
    await grading.close();
    await rm(scratchFolder, { recursive: true, force: true });
  }
  if (json) writeJson(results);
  return results.every((result) => !("error" in result) && result.differences.length === 0) ? 0 : 1;
}
