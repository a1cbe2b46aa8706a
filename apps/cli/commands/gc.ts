/** `gc`: removes what nothing needs any more. */
import { type Command, InvalidArgumentError } from "commander";
import type { GcProgress, GcReport } from "../../../services/store/gc.ts";
import { examples, wantsJson } from "../command.ts";
import { formatBytes, formatTable, ProgressLine, writeJson, writeLine } from "../output.ts";

interface CommandOptions {
  readonly dryRun: boolean;
  readonly keepDays: number;
  readonly experimentsOlderThan?: string;
  readonly unrecorded: boolean;
}

const MEANING: Readonly<Record<keyof GcReport["removed"], string>> = {
  turns: "turns of rollouts that nobody goes on with",
  "late results": "trajectories of superseded attempts",
  requests: "answers to old API requests",
  experiments: "rows of whole experiments",
  tasks: "tasks that no experiment names",
  "task sets": "task sets that no experiment names",
  policies: "policies that no experiment names",
  artifacts: "artifacts that nothing names",
};

export function register(program: Command): void {
  const command = program
    .command("gc")
    .description(
      "remove what nothing needs any more; experiments stay unless --experiments-older-than is given",
    )
    .option("--dry-run", "show what would be removed; remove nothing", false)
    .option(
      "--keep-days <n>",
      "keep answered API requests and trajectories of superseded attempts for so many days",
      days,
      7,
    )
    .option(
      "--experiments-older-than <duration>",
      "also whole experiments that ended so long ago and that no other one needs, as in 90d",
    )
    .option(
      "--unrecorded",
      "also artifacts that this database has no row of: only where no other database uses the data folder",
      false,
    )
    .action(async (options: CommandOptions, self: Command) => {
      const { collect, withRecord } = await import("../../control/index.ts");
      const json = wantsJson(self);
      const progress = new ProgressLine();
      const { dryRun, keepDays, experimentsOlderThan, unrecorded } = options;
      const report = await withRecord((session) =>
        collect(session, {
          dryRun,
          keepDays,
          unrecorded,
          ...(experimentsOlderThan === undefined ? {} : { experimentsOlderThan }),
          onProgress: (now) => progress.draw([progressText(now)]),
        }),
      ).finally(() => progress.clear());
      if (json) writeJson(report);
      else for (const line of reportLines(report)) writeLine(line);
    });
  examples(command, [
    "gc --dry-run",
    "gc",
    "gc --experiments-older-than 90d --dry-run",
    "gc --keep-days 30 --json",
  ]);
}

function days(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError("expected a whole number of days from 1 on");
  return value;
}

function progressText({ phase, done, total }: GcProgress): string {
  const what = {
    rows: "looking at rows",
    experiments: "removing experiments",
    "take out": "taking artifacts out",
    remove: "removing artifacts",
  }[phase];
  return phase === "rows" ? what : `${what}: ${done} of ${total}`;
}

const amount = ({ items, bytes }: { readonly items: number; readonly bytes: number }) =>
  `${items} (${formatBytes(bytes)})`;

/** The report as people read it. */
export function reportLines(report: GcReport): string[] {
  const { dryRun, removed, experiments, needed, live, waiting, unrecorded, missing, unknown, strays } =
    report;
  const kinds = Object.keys(MEANING) as (keyof GcReport["removed"])[];
  const found = kinds.filter((kind) => removed[kind].items > 0);
  const bytes = kinds.reduce((sum, kind) => sum + removed[kind].bytes, 0);
  const lines: string[] = [];
  if (found.length > 0)
    lines.push(
      formatTable(found, [
        { title: dryRun ? "would remove" : "removed", value: (kind) => MEANING[kind] },
        { title: "number", align: "right", value: (kind) => removed[kind].items },
        { title: "size", align: "right", value: (kind) => formatBytes(removed[kind].bytes) },
      ]),
      "",
    );
  if (experiments.length > 0)
    lines.push(
      formatTable(experiments, [
        { title: "experiment", value: ({ name }) => name },
        { title: "status", value: ({ status }) => status },
        { title: "last changed", value: ({ changedAt }) => changedAt.slice(0, 10) },
        { title: "rows", align: "right", value: ({ items }) => items },
        { title: "size", align: "right", value: (experiment) => formatBytes(experiment.bytes) },
      ]),
      "",
    );
  for (const { name, because } of needed) lines.push(`kept: experiment ${name}: ${because}`);
  if (waiting.items > 0)
    lines.push(
      `waiting: ${amount(waiting)} artifacts that nothing names yet, put ${live.length > 0 ? `since the oldest of ${live.join(", ")} began, which ${live.length > 1 ? "go" : "goes"} on` : "within the last hour"}`,
    );
  if (unrecorded.items > 0)
    lines.push(
      `left: ${amount(unrecorded)} artifacts without a row in this database (--unrecorded removes them)`,
    );
  for (const name of strays) lines.push(`left: rows of experiment ${name}, which is not on record`);
  for (const path of unknown) lines.push(`left: ${path} in the data folder is nothing of Tadpole's`);
  if (missing.items > 0) {
    lines.push(`missing: ${missing.items} artifacts that are named; restore them from a copy`);
    for (const { sha256, namedBy } of missing.first) lines.push(`  ${sha256} of ${namedBy}`);
  }
  const total = formatBytes(bytes);
  lines.push(
    found.length === 0
      ? "nothing to remove"
      : dryRun
        ? `would free ${total}; nothing was removed`
        : `freed ${total}`,
  );
  return lines;
}
