/** `import`: reads tasks of other projects from a file or folder. */
import { existsSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import { IMPORT_FORMATS, type ImportFormat } from "../../../core/formats.ts";
import { REPORT_FORMATS, type ReportFormat } from "../../../core/task.ts";
import type { ImportReport } from "../../control/imports.ts";
import { examples, wantsJson } from "../command.ts";
import { exitCodes, UsageError } from "../errors.ts";
import { ProgressLine, writeJson, writeLine } from "../output.ts";

interface CommandOptions {
  readonly limit?: number;
  readonly dryRun: boolean;
  readonly test?: string;
  readonly report?: ReportFormat;
}

/** Refused rows that a person is shown. */
const SHOWN = 50;

export function register(program: Command): void {
  const command = program
    .command("import")
    .description(
      "read tasks of other projects: SWE-bench, SWE-smith, SWE-rebench and R2E-Gym rows, Harbor folders",
    )
    .argument("<format>", IMPORT_FORMATS.join(", "), formatOf)
    .argument("<path>", "a .jsonl, .json or .parquet file, a folder of them, or folders of Harbor tasks")
    .option("--limit <n>", "read so many rows", count)
    .option("--dry-run", "read and check; record nothing, and need no stack", false)
    .option(
      "--test <command>",
      "Bash that runs the tests in place of what the rows say; {tests} stands for their files",
    )
    .addOption(
      new Option("--report <format>", "what --test prints (default: pytest)").choices(REPORT_FORMATS),
    )
    .action(async (format: ImportFormat, path: string, options: CommandOptions, self: Command) => {
      if (!existsSync(path)) throw new UsageError(`no file or folder ${path}`);
      if (options.report !== undefined && options.test === undefined)
        throw new UsageError("--report says what --test prints: give --test, too");
      const { importTasks, withRecord } = await import("../../control/index.ts");
      const { dryRun, ...rest } = options;
      const progress = new ProgressLine();
      const onProgress = ({ read, refused }: ImportReport) => {
        if ((read + refused) % 100 === 0) progress.draw([`${read} tasks read, ${refused} refused`]);
      };
      const request = { format, path, ...rest, onProgress };
      const report = await (dryRun
        ? importTasks(null, request)
        : withRecord((session) => importTasks(session, request))
      ).finally(() => progress.clear());
      if (wantsJson(self)) writeJson(report);
      else for (const line of reportLines(report)) writeLine(line);
      if (report.refused > 0) process.exitCode = exitCodes.failed;
    });
  examples(command, [
    "import swe-bench verified.parquet --limit 20 --dry-run",
    "import swe-smith rows.jsonl",
    "import harbor tasks/",
  ]);
}

function formatOf(text: string): ImportFormat {
  const found = IMPORT_FORMATS.find((format) => format === text);
  if (found === undefined) throw new InvalidArgumentError(`expected one of ${IMPORT_FORMATS.join(", ")}`);
  return found;
}

function count(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError("expected a whole number from 1 on");
  return value;
}

/** The report as people read it. */
export function reportLines(report: ImportReport): string[] {
  const { dryRun, read, changed, unchanged, refused, refusals, notes } = report;
  const shown = refusals.slice(0, SHOWN).map(({ message }) => `refused: ${message}`);
  if (refused > shown.length) shown.push(`refused: ${refused - shown.length} more (--json lists 1000)`);
  const noted = Object.entries(notes).map(
    ([note, { tasks, first }]) =>
      `note on ${tasks === 1 ? first : `${tasks} tasks (${first} is the first)`}: ${note}`,
  );
  const counted = dryRun
    ? `${read} tasks can be imported, ${refused} refused; nothing was recorded`
    : `${report.new + changed} new${changed > 0 ? ` (${changed} of them changed)` : ""}, ${unchanged} unchanged, ${refused} refused`;
  return [...shown, ...noted, counted];
}
