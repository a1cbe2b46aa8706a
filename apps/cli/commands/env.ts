/** `env list | verify`: the catalogue of real packages, and its proof. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import type { RunTests } from "../../../services/environments/index.ts";
import { wantsJson } from "../command.ts";
import { UsageError } from "../errors.ts";
import { formatTable, ProgressLine, writeJson, writeLine } from "../output.ts";

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
    .command("show")
    .description(
      "show an environment of this data folder, preparing it if needed: its tree, tests and baseline",
    )
    .argument("<name>", "name in the catalogue (tadpole env list)")
    .addHelpText("after", "\nExample:\n  $ tadpole env show minimist")
    .action(async (name: string, _options: unknown, command: Command) => {
      const json = wantsJson(command);
      const prepared = await withGrading(async ({ folder, runTests }) => {
        const { prepareEnvironment } = await import("../../../services/environments/index.ts");
        return prepareEnvironment({ name, dataFolder: folder, runTests });
      });
      if (json) return writeJson(prepared);
      const { entry, baseline, unstable } = prepared;
      writeLine(`${prepared.key} · ${entry.source} · ${entry.role}`);
      writeLine(`tree     ${prepared.root}`);
      writeLine(`modules  ${prepared.modules}`);
      writeLine(`sources  ${entry.sources.join(", ")}`);
      writeLine(`tests    ${entry.tests.join(", ")}`);
      writeLine(
        `baseline ${Object.keys(baseline).length} assertions over ${prepared.baselineRuns} runs, ${prepared.cpuSeconds.toFixed(2)} CPU s${unstable.length > 0 ? `; unstable and left out: ${unstable.join(", ")}` : ""}`,
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

/** A cold grader of this data folder, for as long as `work` takes. */
async function withGrading<T>(
  work: (parts: { readonly folder: string; readonly runTests: RunTests }) => Promise<T>,
): Promise<T> {
  const { createGrading } = await import("../../../services/grading/index.ts");
  const { createProcessRuntime } = await import("../../../services/sandbox/index.ts");
  const { dataFolder, prepareDataFolder } = await import("../../../infra/stack/index.ts");
  const folder = prepareDataFolder(dataFolder());
  const runtime = createProcessRuntime({ root: join(folder, "sandboxes"), nodePath: process.execPath });
  const grading = createGrading({ runtime });
  try {
    return await work({ folder, runTests: (request) => grading.runTests(request, "cold") });
  } finally {
    await grading.close();
  }
}

async function verify(wanted: readonly string[], json: boolean): Promise<number> {
  const { loadCatalogue, verifyEnvironment } = await import("../../../services/environments/index.ts");
  const catalogue = await loadCatalogue();
  const known = catalogue.entries.map((entry) => entry.name);
  const unknown = wanted.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`no environment "${unknown}" in the catalogue: ${known.join(", ")}`);
  const scratchFolder = await mkdtemp(join(tmpdir(), "tadpole-verify-"));
  const view = new ProgressLine();
  const results = [];
  try {
    for (const name of wanted.length > 0 ? wanted : known) {
      const result = await withGrading(({ folder, runTests }) =>
        verifyEnvironment({
          name,
          catalogue,
          dataFolder: folder,
          scratchFolder,
          runTests,
          ...(json ? {} : { log: (line: string) => view.note(`  ${line}`) }),
        }),
      ).catch((error: Error) => ({ key: name, error: error.message }));
      results.push(result);
      if (json) continue;
      if ("error" in result) writeLine(`✗ ${name}: ${result.error}`);
      else if (result.differences.length > 0) writeLine(`✗ ${name}: ${result.differences.join("; ")}`);
      else
        writeLine(
          `✓ ${result.key}: ${result.tests} tests, ${
            result.unstable.length > 0
              ? `unstable and left out: ${result.unstable.join(", ")}`
              : `no flake seen in ${result.runs} runs (rate < ${result.flakeBound.toFixed(2)} at 95 %)`
          }`,
        );
    }
  } finally {
    await rm(scratchFolder, { recursive: true, force: true });
  }
  if (json) writeJson(results);
  return results.every((result) => !("error" in result) && result.differences.length === 0) ? 0 : 1;
}
