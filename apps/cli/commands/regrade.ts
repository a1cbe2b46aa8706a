/** `regrade`: saved changes graded again, without running an agent. */
import { type Command, InvalidArgumentError } from "commander";
import type { ChangedVerdict, RegradeReport, RegradeRun } from "../../control/regrade.ts";
import { examples, wantsJson } from "../command.ts";
import { exitCodes } from "../errors.ts";
import { type Column, formatTable, ProgressLine, writeJson, writeLine } from "../output.ts";

interface CommandOptions {
  readonly iteration?: number;
  readonly concurrency: number;
  readonly dryRun: boolean;
  readonly list: boolean;
}

/** Between two lines of progress where none can be redrawn. */
const NOTE_MS = 10_000;

/** Characters of a test's name that a line has room for. */
const NAME_WIDTH = 60;

const columns: readonly Column<ChangedVerdict>[] = [
  { title: "rollout", value: ({ rollout }) => rollout },
  { title: "was", value: ({ was }) => `${was.outcome} (${was.rule})` },
  { title: "now", value: ({ now }) => `${now.outcome} (${now.rule})` },
  { title: "first offending", value: ({ now }) => now.offending[0]?.slice(0, NAME_WIDTH) ?? null },
];

const runColumns: readonly Column<RegradeRun>[] = [
  { title: "regrade", align: "right", value: ({ regrade }) => regrade },
  { title: "iteration", align: "right", value: ({ iteration }) => iteration ?? "all" },
  { title: "begun", value: ({ begun }) => begun.toISOString() },
  { title: "graded", value: stateOf },
];

export function register(program: Command): void {
  const command = program
    .command("regrade")
    .description(
      "grade an experiment's saved changes again on this host, cold, without running an agent; one that was cut half way is gone on with; exit code 1 when a verdict changed or could not be reached",
    )
    .argument("<experiment>", "name of the experiment (tadpole list)")
    .option("--iteration <n>", "only this iteration's rollouts", wholeFrom(0))
    .option("--concurrency <n>", "gradings at a time", wholeFrom(1), 2)
    .option("--dry-run", "record nothing", false)
    .option("--list", "only list the regrades on record, and how far each came", false)
    .action(async (experiment: string, options: CommandOptions, self: Command) => {
      const { listExperimentRegrades, regrade, withRecord } = await import("../../control/index.ts");
      const { iteration = null, concurrency, dryRun, list } = options;
      if (list) {
        const runs = await withRecord((session) => listExperimentRegrades(session, experiment));
        if (wantsJson(self)) writeJson({ regrades: runs });
        else writeLine(listText(runs));
        return;
      }
      const progress = new ProgressLine();
      let noted = Date.now();
      const report = await withRecord((session) =>
        regrade(session, {
          experiment,
          iteration,
          concurrency,
          dryRun,
          onProgress: ({ done, total, changed }) => {
            const line = `graded ${done} of ${total}, ${changed} changed`;
            if (progress.live) return progress.draw([line]);
            if (Date.now() - noted < NOTE_MS) return;
            noted = Date.now();
            progress.note(line);
          },
        }),
      ).finally(() => progress.clear());
      if (report.changed.length > 0 || report.lost.length > 0) process.exitCode = exitCodes.failed;
      if (wantsJson(self)) writeJson(report);
      else for (const line of reportLines(report)) writeLine(line);
    });
  examples(command, [
    "regrade quickstart-1",
    "regrade quickstart-1 --iteration 2 --dry-run",
    "regrade quickstart-1 --list",
    "regrade quickstart-1 --json",
  ]);
}

function wholeFrom(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!Number.isInteger(value) || value < least)
      throw new InvalidArgumentError(`expected a whole number from ${least} on`);
    return value;
  };
}

/** The report as people read it. */
export function reportLines({ regrade, graded, before, changed, lost }: RegradeReport): string[] {
  if (graded + lost.length === 0) return ["no verdict is on record to look at again"];
  const lines = changed.length > 0 ? [formatTable(changed, columns), ""] : [];
  for (const { rollout, otherTask } of changed)
    if (otherTask) lines.push(`${rollout}: its task is not the one that was graded`);
  for (const { rollout, reason } of lost) lines.push(`${rollout}: no verdict: ${reason}`);
  if (before > 0) lines.push(`regrade ${regrade} was cut half way after ${before}: it went on with the rest`);
  const kept = regrade === null ? "nothing was recorded" : `recorded as regrade ${regrade}; rewards stay`;
  lines.push(`${graded} graded again, ${changed.length} changed, ${lost.length} without a verdict; ${kept}`);
  return lines;
}

/** How far each came, the first one first. */
export const listText = (runs: readonly RegradeRun[]): string =>
  runs.length === 0 ? "no regrade is on record" : formatTable(runs, runColumns);

/** "40 of 40", or "partial: 12 of 40". */
function stateOf({ isComplete, graded, total }: RegradeRun): string {
  return `${isComplete ? "" : "partial: "}${graded}${total === null ? "" : ` of ${total}`}`;
}
