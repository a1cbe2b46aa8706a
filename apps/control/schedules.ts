/** Schedules of experiments and evaluations, over Temporal's own: made paused, checked before, named by the user. */

import { setTimeout as sleep } from "node:timers/promises";
import {
  type Client,
  isGrpcServiceError,
  ScheduleAlreadyRunning,
  type ScheduleDescription,
  type ScheduleHandle,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  type ScheduleSpec,
} from "@temporalio/client";
import { CONDITION_SHAPE, parseCondition } from "../../core/condition.ts";
import { describeScheduled } from "../../core/descriptions.ts";
import { formatDuration, parseDuration } from "../../core/duration.ts";
import type { ExperimentSettings } from "../../core/experiment.ts";
import { type ArtifactStore, type Db, getExperiment, planEvaluation } from "../../services/store/index.ts";
import { searchAttributes } from "../../workflows/attributes.ts";
import { QUEUES } from "../../workflows/queues.ts";
import type { ScheduledRunInput, scheduledRun } from "../../workflows/scheduledRun.ts";
import { pinBenchmarks } from "./benchmarks.ts";
import { checkEnvironments, checkPolicy } from "./checks.ts";
import { type ListPage, type ListRequest, list } from "./pages.ts";

/** `input`: an option is not what it should be; `missing`: no such schedule; `conflict`: the name is taken. */
export type ScheduleErrorKind = "input" | "missing" | "conflict";

export class ScheduleError extends Error {
  readonly kind: ScheduleErrorKind;
  /** Which part of `NewSchedule` is at fault; null where none is. */
  readonly field: string | null;
  constructor(
    kind: ScheduleErrorKind,
    message: string,
    { field = null, ...options }: ErrorOptions & { readonly field?: string | null } = {},
  ) {
    super(message, options);
    this.name = "ScheduleError";
    this.kind = kind;
    this.field = field;
  }
}

export interface ScheduleContext {
  readonly db: Db;
  readonly client: Client;
  /** For benchmarks that the settings name by path. */
  readonly artifacts?: ArtifactStore;
}

/** What a time does while a run of the schedule still goes on. */
export const OVERLAPS = {
  skip: ScheduleOverlapPolicy.SKIP,
  "buffer-one": ScheduleOverlapPolicy.BUFFER_ONE,
  "buffer-all": ScheduleOverlapPolicy.BUFFER_ALL,
  "cancel-other": ScheduleOverlapPolicy.CANCEL_OTHER,
  "terminate-other": ScheduleOverlapPolicy.TERMINATE_OTHER,
  "allow-all": ScheduleOverlapPolicy.ALLOW_ALL,
} as const;
export type Overlap = keyof typeof OVERLAPS;

export type ScheduledWork =
  /** `source`: the experiment as the user named it, for messages. */
  | { readonly kind: "run"; readonly source: string; readonly settings: ExperimentSettings }
  | { readonly kind: "evaluate"; readonly experiment: string; readonly policy: string; readonly set: string };

/** Exactly one of `cron` and `every`; durations as `core/duration.ts` reads them. */
export interface NewSchedule {
  readonly name: string;
  readonly cron?: string;
  readonly every?: string;
  readonly timeZone?: string;
  readonly overlap?: string;
  readonly catchUp?: string;
  readonly jitter?: string;
  readonly until?: string;
  readonly work: ScheduledWork;
}

export interface ScheduleView {
  readonly name: string;
  readonly paused: boolean;
  /** Why it is paused, or how it ended. */
  readonly note: string | null;
  /** When, as it was asked for: a cron expression with its zone, or `every 6h`. */
  readonly when: string;
  /** `run quickstart`, `evaluate latest on heldout of quickstart-1`. */
  readonly what: string;
  readonly overlap: Overlap;
  readonly until: string | null;
  /** The next times as the server computes them, ISO 8601; they pass unused while it is paused. */
  readonly next: readonly string[];
  /** Runs started so far, times skipped because one still went on, times missed beyond the catch-up window. */
  readonly runs: number;
  readonly skipped: number;
  readonly missed: number;
  /** Newest last: workflow ids of the latest runs, with their times. */
  readonly recent: readonly { readonly at: string; readonly workflow: string }[];
}

const NEXT_TIMES = 5;
const CATCH_UP = "1h";
/** The server raises anything shorter to this. */
const LEAST_CATCH_UP_MS = 10_000;
/** Leaves room for the time in names of experiments, which have at most 100 characters. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/;
const WORKFLOW = "scheduledRun" satisfies (typeof scheduledRun)["name"];

/** How often the times of a new schedule are asked for before it counts as one that never fires. */
const ASKS = 20;
const ASK_EVERY_MS = 100;

/**
 * Makes it, paused; `resumeSchedule` starts it. Throws ScheduleError `input` or `conflict`, SettingsError, or StoreError `missing`; nothing
 * is made then.
 */
export async function createSchedule(session: ScheduleContext, wanted: NewSchedule): Promise<ScheduleView> {
  const { name, work } = wanted;
  if (!NAME.test(name))
    throw invalid(
      "name",
      name,
      "at most 80 letters, digits, dots, hyphens and underscores, a letter or digit first",
    );
  const spec = specOf(wanted);
  const overlap = wanted.overlap ?? "skip";
  if (!Object.hasOwn(OVERLAPS, overlap)) throw invalid("overlap", overlap, Object.keys(OVERLAPS).join(", "));
  const catchUp = duration("catchUp", wanted.catchUp ?? CATCH_UP, LEAST_CATCH_UP_MS);
  await checkWork(session, work);
  const until = await checkUntil(session, wanted);
  const input: ScheduledRunInput = {
    schedule: name,
    work:
      work.kind === "run"
        ? { kind: "run", settings: await pinBenchmarks(session.artifacts, work.settings) }
        : work,
    until,
  };
  const what =
    work.kind === "run"
      ? `run ${work.source} (seed ${work.settings.seed})`
      : `evaluate ${work.policy} on ${work.set} of ${work.experiment}`;
  const handle = await session.client.schedule
    .create({
      scheduleId: name,
      spec,
      action: {
        type: "startWorkflow",
        workflowType: WORKFLOW,
        workflowId: `schedule/${name}`,
        taskQueue: QUEUES.orchestrate,
        args: [input],
        ...describeScheduled(name, what, until),
        typedSearchAttributes:
          work.kind === "run" ? [] : searchAttributes({ experiment: work.experiment, phase: "evaluation" }),
      },
      policies: { overlap: OVERLAPS[overlap as Overlap], catchupWindow: catchUp },
      state: { paused: true, note: "made paused: tadpole schedule resume starts it" },
      memo: { when: whenOf(wanted), what, until },
    })
    .catch((error: unknown) => {
      if (error instanceof ScheduleAlreadyRunning)
        throw new ScheduleError(
          "conflict",
          `schedule "${name}" exists already (tadpole schedule show ${name})`,
          { field: "name" },
        );
      const details = serverSays(error);
      if (details !== null)
        throw new ScheduleError("input", `schedule "${name}": ${whenOf(wanted)}: ${details}`, {
          cause: error,
          field: wanted.cron === undefined ? "every" : "cron",
        });
      throw error;
    });
  for (let ask = 0; ask < ASKS; ask++) {
    const view = viewOf(await handle.describe());
    if (view.next.length > 0) return view;
    await sleep(ASK_EVERY_MS);
  }
  await handle.delete();
  throw invalid("cron", whenOf(wanted), "times that come: this one never fires");
}

/** Schedules of this project, by name, page by page. Throws PageError. */
export function schedulesPage(
  session: ScheduleContext,
  request: ListRequest<Record<never, never>>,
): Promise<ListPage<ScheduleView>> {
  return list("schedules", request, async ({ after, limit }) => {
    const names: string[] = [];
    for await (const { scheduleId, action } of session.client.schedule.list())
      if (action?.workflowType === WORKFLOW && (after === null || scheduleId > after)) names.push(scheduleId);
    names.sort();
    const items: ScheduleView[] = [];
    for (const name of names.slice(0, limit)) {
      // One that was deleted since the list was made is left out.
      const view = await showSchedule(session, name).catch((error: unknown) => {
        if (error instanceof ScheduleError) return null;
        throw error;
      });
      if (view !== null) items.push(view);
    }
    return { items, next: names.length > limit ? names[limit - 1]! : null };
  });
}

/** Throws ScheduleError `missing`. */
export async function showSchedule(session: ScheduleContext, name: string): Promise<ScheduleView> {
  return viewOf(await describeSchedule(session, name));
}

/** Nothing fires until it is resumed; a run that goes on is not touched. Throws ScheduleError `missing`. */
export function pauseSchedule(
  session: ScheduleContext,
  name: string,
  note = "paused by hand",
): Promise<ScheduleView> {
  return change(session, name, (handle) => handle.pause(note));
}

/** Throws ScheduleError `missing`. */
export function resumeSchedule(session: ScheduleContext, name: string): Promise<ScheduleView> {
  return change(session, name, (handle) => handle.unpause("active"));
}

/** Its runs and their experiments stay. Throws ScheduleError `missing`. */
export async function deleteSchedule(session: ScheduleContext, name: string): Promise<void> {
  await describeSchedule(session, name);
  await session.client.schedule.getHandle(name).delete();
}

async function change(
  session: ScheduleContext,
  name: string,
  make: (handle: ScheduleHandle) => Promise<void>,
): Promise<ScheduleView> {
  await describeSchedule(session, name);
  await make(session.client.schedule.getHandle(name));
  return showSchedule(session, name);
}

/** Throws ScheduleError `missing`, for schedules of others too. */
export async function describeSchedule(session: ScheduleContext, name: string): Promise<ScheduleDescription> {
  const missing = (cause?: unknown) =>
    new ScheduleError("missing", `no schedule "${name}" (tadpole schedule list shows all)`, { cause });
  if (name === "") throw missing();
  const found = await session.client.schedule
    .getHandle(name)
    .describe()
    .catch((error: unknown) => {
      throw error instanceof ScheduleNotFoundError ? missing(error) : error;
    });
  if (found.action.workflowType !== WORKFLOW) throw missing();
  return found;
}

export function viewOf(found: ScheduleDescription): ScheduleView {
  const { scheduleId, memo, state, info, policies } = found;
  const {
    when = "",
    what = "",
    until = null,
  } = (memo ?? {}) as { when?: string; what?: string; until?: string };
  const overlaps = Object.keys(OVERLAPS) as Overlap[];
  return {
    name: scheduleId,
    paused: state.paused,
    note: state.note || null,
    when,
    what,
    overlap: overlaps.find((overlap) => OVERLAPS[overlap] === policies.overlap) ?? "skip",
    until,
    next: info.nextActionTimes.slice(0, NEXT_TIMES).map((time) => time.toISOString()),
    runs: info.numActionsTaken,
    skipped: info.numActionsSkippedOverlap,
    missed: info.numActionsMissedCatchupWindow,
    recent: info.recentActions.map(({ scheduledAt, action }) => ({
      at: scheduledAt.toISOString(),
      workflow: action.workflow.workflowId,
    })),
  };
}

function whenOf({ cron, every, timeZone }: NewSchedule): string {
  return cron === undefined ? `every ${every}` : `${cron} (${timeZone ?? "UTC"})`;
}

function specOf({ cron, every, timeZone, jitter }: NewSchedule): ScheduleSpec {
  if ((cron === undefined) === (every === undefined))
    throw new ScheduleError("input", "expected exactly one of cron EXPRESSION and every DURATION", {
      field: "cron",
    });
  if (timeZone !== undefined && every !== undefined)
    throw invalid("timeZone", timeZone, "a zone with cron alone: every counts from 1970 in UTC");
  const zone = timeZone === undefined ? {} : { timezone: checkZone(timeZone) };
  const spread = jitter === undefined ? {} : { jitter: duration("jitter", jitter, 0) };
  if (every !== undefined) return { intervals: [{ every: duration("every", every, 1000) }], ...spread };
  // `@every`, zones and comments inside of the expression would be second ways to say what the options say.
  if (!/^[^@#=]+$/.test(cron!)) throw invalid("cron", cron!, "five, six or seven fields, as in 0 3 * * 1");
  return { cronExpressions: [cron!], ...zone, ...spread };
}

function checkZone(zone: string): string {
  if (zone === "UTC" || Intl.supportedValuesOf("timeZone").includes(zone)) return zone;
  throw invalid("timeZone", zone, "an IANA name, as in Europe/Berlin");
}

function duration(field: string, text: string, least: number): number {
  const value = parseDuration(text);
  if (value === null || value < least)
    throw invalid(
      field,
      text,
      `a duration of at least ${formatDuration(least)}, as in 90s, 15m, 6h, 7d, 1h30m`,
    );
  return value;
}

function invalid(field: string, found: string, expected: string): ScheduleError {
  return new ScheduleError("input", `${field} ${JSON.stringify(found)}: expected ${expected}`, { field });
}

async function checkWork({ db }: ScheduleContext, work: ScheduledWork): Promise<void> {
  if (work.kind === "evaluate") return void (await planEvaluation(db, work));
  await checkEnvironments(work.settings, work.source);
  await checkPolicy(work.settings, work.source);
}

/** The text of the condition; null where there is none. */
async function checkUntil({ db }: ScheduleContext, { until, work }: NewSchedule): Promise<string | null> {
  if (until === undefined) return null;
  const condition = parseCondition(until);
  if (condition === null) throw invalid("until", until, CONDITION_SHAPE);
  const settings =
    work.kind === "run"
      ? work.settings
      : ((await getExperiment(db, work.experiment)).settings as ExperimentSettings);
  const sets = work.kind === "run" ? Object.keys(settings.evaluation.sets) : [work.set];
  if (!sets.includes(condition.set))
    throw invalid("until", until, `a task set that is measured: ${sets.join(", ")}`);
  return until;
}

/** What the server says is wrong with the request (gRPC INVALID_ARGUMENT); null for any other failure. */
function serverSays(error: unknown): string | null {
  // The client's own way to tell a bad specification.
  if (error instanceof TypeError) return error.message;
  const cause = error instanceof Error && !isGrpcServiceError(error) ? error.cause : error;
  return isGrpcServiceError(cause) && cause.code === 3 ? cause.details : null;
}
