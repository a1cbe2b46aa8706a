/** `schedule`: experiments and evaluations at set times. */
import { createInterface } from "node:readline/promises";
import { type Command, InvalidArgumentError } from "commander";
import type { NewSchedule, ScheduledWork, ScheduleView, Triggered } from "../../control/index.ts";
import { examples, wantsJson } from "../command.ts";
import { UsageError } from "../errors.ts";
import { listCommand } from "../list-view.ts";
import { writeJson, writeLine } from "../output.ts";

interface CreateOptions extends Omit<NewSchedule, "name" | "work"> {
  readonly yes: boolean;
  readonly seed?: number;
  readonly set: readonly string[];
  readonly experiment?: string;
}

const TRIGGERED: Readonly<Record<Triggered, string>> = {
  started: "a run was started",
  skipped: "skipped: nothing was started, as a run of the schedule still goes on",
  waits: "a run waits for the end of the one that goes on",
  unknown: "asked for, but no run was counted yet: tadpole schedule show tells later",
};

export function register(program: Command): void {
  const schedule = program.command("schedule").description("run experiments and evaluations at set times");
  const create = schedule
    .command("create")
    .description("make a schedule: paused, until its next times are confirmed")
    .argument("<name>", "name of the schedule; its runs are called <name>-<time>")
    .argument("<run|evaluate>", "what it does")
    .argument("<what...>", "an experiment as for tadpole run, or a policy (or: latest) and a task set")
    .option("--cron <expression>", "five to seven fields: minute, hour, day of month, month, day of week")
    .option("--every <duration>", "instead of --cron: 90s, 15m, 6h, 7d")
    .option("--time-zone <zone>", "IANA zone of --cron, as in Europe/Berlin (default: UTC)")
    .option(
      "--overlap <policy>",
      "while a run still goes on: skip, buffer-one, buffer-all, cancel-other, terminate-other, allow-all (default: skip)",
    )
    .option("--catch-up <duration>", "how late a missed time may still fire (default: 1h)")
    .option("--jitter <duration>", "puts each time off by a random part of this")
    .option("--until <condition>", "ends the schedule once it holds, as in 'pass@1(heldout) >= 0.7'")
    .option("--seed <n>", "run: seed of every random choice", wholeNumber)
    .option(
      "--set <path=value>",
      "run: override one setting; may be repeated",
      (value: string, all: string[]) => [...all, value],
      [],
    )
    .option("--experiment <name>", "evaluate: the experiment whose set and settings are used")
    .option("--yes", "start it without asking", false)
    .action(createAction);
  examples(create, [
    'schedule create weekly --cron "0 3 * * 1" --time-zone Europe/Berlin run quickstart',
    "schedule create nightly --every 24h evaluate latest unseen-packages --experiment quickstart-1",
    "schedule create until-good --every 6h --until 'pass@1(heldout) >= 0.7' run my.yaml --yes",
  ]);
  listCommand(schedule, {
    name: "list",
    description: "list the schedules, by name",
    filters: {},
    read: (control) => control.schedulesPage,
    columns: [
      { title: "name", value: ({ name }) => name },
      { title: "state", value: ({ paused }) => (paused ? "paused" : "active") },
      { title: "when", value: ({ when }) => when },
      { title: "what", value: ({ what }) => what },
      { title: "runs", align: "right", value: ({ runs }) => runs },
      { title: "skipped", align: "right", value: ({ skipped }) => skipped },
      { title: "next", value: ({ paused, next }) => (paused ? null : (next[0] ?? null)) },
      { title: "note", value: ({ note }) => note },
    ],
    none: "No schedule yet: tadpole schedule create --help",
    examples: ["schedule list --json"],
  });

  type Change = "showSchedule" | "pauseSchedule" | "resumeSchedule" | "triggerSchedule";
  const one = (verb: string, description: string, change: Change) =>
    examples(
      schedule
        .command(verb)
        .description(description)
        .argument("<name>", "name of the schedule (tadpole schedule list)")
        .action(async (name: string, _options: unknown, self: Command) => {
          const control = await import("../../control/index.ts");
          const view: ScheduleView & { readonly triggered?: Triggered } = await control.withRecord(
            (session) => control[change](session, name),
          );
          if (wantsJson(self)) return writeJson(view);
          if (view.triggered !== undefined) writeLine(TRIGGERED[view.triggered]);
          writeSchedule(view);
        }),
      [`schedule ${verb} weekly`],
    );
  one("show", "one schedule: its next times, its latest runs", "showSchedule");
  one("pause", "nothing fires until it is resumed; a run that goes on is not touched", "pauseSchedule");
  one("resume", "start a paused schedule", "resumeSchedule");
  one("trigger", "one run now, by its own overlap policy", "triggerSchedule");
  const remove = schedule
    .command("delete")
    .description("remove a schedule; its runs and their experiments stay")
    .argument("<name>", "name of the schedule (tadpole schedule list)")
    .action(async (name: string, _options: unknown, self: Command) => {
      const { deleteSchedule, withRecord } = await import("../../control/index.ts");
      await withRecord((session) => deleteSchedule(session, name));
      if (wantsJson(self)) writeJson({ deleted: name });
      else writeLine(`deleted ${name}`);
    });
  examples(remove, ["schedule delete weekly"]);
}

async function createAction(
  name: string,
  kind: string,
  what: readonly string[],
  options: CreateOptions,
  self: Command,
): Promise<void> {
  const { createSchedule, resumeSchedule, withRecord } = await import("../../control/index.ts");
  const { yes, seed: _, set: __, experiment: ___, ...times } = options;
  const work = await workOf(kind, what, options);
  const json = wantsJson(self);
  await withRecord(async (session) => {
    const made = await createSchedule(session, { ...times, name, work });
    if (!json) {
      writeLine(`${name}: ${made.what}, ${made.when}. Next times:`);
      for (const time of made.next) writeLine(`  ${localTime(time, options.timeZone)}`);
    }
    const confirmed = yes || (!json && process.stdin.isTTY && (await confirm()));
    const view = confirmed ? await resumeSchedule(session, name) : made;
    if (json) writeJson(view);
    else if (confirmed) writeLine(`started ${name}`);
    else
      writeLine(
        `${name} stays paused: tadpole schedule resume ${name} starts it, tadpole schedule delete ${name} removes it`,
      );
  });
}

async function workOf(kind: string, what: readonly string[], options: CreateOptions): Promise<ScheduledWork> {
  if (kind === "run") {
    const [source, ...rest] = what;
    if (source === undefined || rest.length > 0)
      throw new UsageError(`run ${what.join(" ")}: expected one experiment`);
    if (options.experiment !== undefined)
      throw new UsageError("--experiment: expected with evaluate alone; run names its own");
    const { loadExperiment } = await import("../../control/index.ts");
    return { kind, source, settings: (await loadExperiment(source, options)).settings };
  }
  if (kind !== "evaluate") throw new UsageError(`${kind}: expected run or evaluate`);
  const [policy, set, ...rest] = what;
  if (policy === undefined || set === undefined || rest.length > 0 || options.experiment === undefined)
    throw new UsageError(
      `evaluate ${what.join(" ")}: expected a policy (or: latest), a task set, and --experiment`,
    );
  if (options.seed !== undefined || options.set.length > 0)
    throw new UsageError("--seed and --set: expected with run alone; an evaluation has its experiment's");
  return { kind, policy, set, experiment: options.experiment };
}

async function confirm(): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question("Start it? [y/N] ")).trim());
  } finally {
    terminal.close();
  }
}

function writeSchedule(view: ScheduleView): void {
  writeLine(`${view.name}: ${view.what}, ${view.when} · ${view.paused ? "paused" : "active"}`);
  if (view.note !== null) writeLine(`note: ${view.note}`);
  writeLine(
    `overlap: ${view.overlap} · runs ${view.runs}, skipped ${view.skipped}, missed ${view.missed}${view.until === null ? "" : ` · until ${view.until}`}`,
  );
  for (const { workflow } of view.recent) writeLine(`  ran   ${workflow}`);
  if (!view.paused) for (const time of view.next) writeLine(`  next  ${localTime(time)}`);
}

/** ISO 8601 in UTC, and the same in a zone where one is given. */
function localTime(iso: string, timeZone?: string): string {
  if (timeZone === undefined) return iso;
  const format = new Intl.DateTimeFormat("en-GB", { timeZone, dateStyle: "full", timeStyle: "long" });
  return `${iso} (${format.format(new Date(iso))})`;
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0)
    throw new InvalidArgumentError("expected a whole number from 0 on");
  return value;
}
