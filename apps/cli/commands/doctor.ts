/** `tadpole doctor`: whether this machine has everything a run, or one experiment, needs. */
import type { Command } from "commander";
import { examples, wantsJson } from "../command.ts";
import { exitCodes } from "../errors.ts";
import { writeJson, writeLine } from "../output.ts";

const marks = { ok: "✓", missing: "✗", note: "–" } as const;

export function register(program: Command): void {
  const command = program
    .command("doctor")
    .description("check that this machine has everything a run needs; exit code 1 when something is missing")
    .argument("[experiment]", "also what this experiment needs: its engines, keys and workers of its trainer")
    .action(async (source: string | undefined, _options: unknown, command: Command) => {
      const { examine } = await import("../doctor.ts");
      const { loadExperiment } = await import("../../control/index.ts");
      const loaded = source === undefined ? undefined : await loadExperiment(source, { set: [] });
      const checks = await examine(process.env, loaded?.settings);
      const missing = checks.filter(({ result }) => result === "missing");
      if (missing.length > 0) process.exitCode = exitCodes.failed;
      if (wantsJson(command)) return writeJson({ ok: missing.length === 0, checks });
      for (const { name, result, detail } of checks)
        writeLine(`${marks[result]} ${name.padEnd(11)}  ${detail}`);
      writeLine();
      const names = missing.map(({ name }) => name).join(", ");
      writeLine(missing.length === 0 ? "Everything a run needs is here." : `Needed and missing: ${names}.`);
    });
  examples(command, ["doctor", "doctor frognano", "doctor --json"]);
}
