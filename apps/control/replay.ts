/** Replay: a further try of an iteration from the same pinned input, which takes over what earlier tries finished (docs/replay.md). */
import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from "@temporalio/client";
import type { ExperimentSettings } from "../../core/experiment.ts";
import { isReplayable, PHASE_OF, PIECES, type Piece, REPLAYABLE, remade } from "../../core/replay.ts";
import type { ReplayPhase } from "../../core/reuse.ts";
import { applyOverrides, SettingsError } from "../../core/schemas/index.ts";
import type { Scope } from "../../core/scope.ts";
import { settingAt } from "../../core/steering.ts";
import {
  addTry,
  type Db,
  getExperiment,
  type IterationRow,
  listPieces,
  listTries,
  setStatus,
} from "../../services/store/index.ts";
import { experimentId } from "../../workflows/ids.ts";
import { QUEUES } from "../../workflows/queues.ts";
import type { runExperiment } from "../../workflows/runExperiment.ts";
import type { RunIterationInput } from "../../workflows/runIteration.ts";
import { codeVersion } from "./checks.ts";
import { isRunning } from "./experiments.ts";

export type ReplayErrorKind = "missing" | "running" | "settings";

/** `missing`: no such iteration; `running`: the experiment has to be stopped first; `settings`: a phase that does not exist. */
export class ReplayError extends Error {
  readonly kind: ReplayErrorKind;
  constructor(kind: ReplayErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ReplayError";
    this.kind = kind;
  }
}

export interface ReplayOptions {
  /** From this phase on everything is made anew; null = only what no longer matches. */
  readonly from: ReplayPhase | null;
  /** `path=value` as in `--set`. */
  readonly with: readonly string[];
  /** Also runs the later iterations again; else the experiment ends after this one. */
  readonly continue?: boolean;
}

export interface PlannedPieces {
  readonly piece: Piece;
  readonly phase: ReplayPhase | "select";
  /** Finished pieces that are taken over. */
  readonly reused: number;
  /** Finished pieces that are made anew; where one comes out as before, what follows from it is taken over all the same. */
  readonly redone: number;
}

export interface ReplayPlan {
  readonly experiment: string;
  readonly iteration: number;
  /** Number of the new try, and of the one whose input it has. */
  readonly try: number;
  readonly base: number;
  readonly from: ReplayPhase | null;
  readonly overrides: Readonly<Record<string, unknown>>;
  readonly pieces: readonly PlannedPieces[];
}

interface Prepared {
  readonly plan: ReplayPlan;
  readonly base: IterationRow;
  readonly settings: ExperimentSettings;
}

type Context = { readonly db: Db; readonly client: Client };

/** What a replay would re-use and make anew; changes nothing. Throws ReplayError, SettingsError, StoreError `missing`. */
export async function planReplay(
  context: Context,
  name: string,
  iteration: number,
  options: ReplayOptions,
): Promise<ReplayPlan> {
  return (await prepare(context, name, iteration, options)).plan;
}

/** Records the try and starts the experiment again, which runs it first. Throws as `planReplay` does. */
export async function startReplay(
  context: Context,
  name: string,
  iteration: number,
  options: ReplayOptions,
): Promise<{ readonly scope: Scope; readonly workflowId: string; readonly plan: ReplayPlan }> {
  const { plan, base, settings } = await prepare(context, name, iteration, options);
  const pinned = base.pinned as RunIterationInput;
  const scope = await addTry(context.db, {
    base,
    from: options.from,
    overrides: plan.overrides,
    codeVersion: await codeVersion(),
    pinned: (attempt): RunIterationInput => ({
      ...pinned,
      scope: { ...pinned.scope, try: attempt },
      settings,
      reuse: { from: options.from },
    }),
  });
  const workflowId = experimentId(name);
  const experiment = (await getExperiment(context.db, name)).settings as ExperimentSettings;
  await setStatus(context.db, name, "running");
  try {
    await context.client.workflow.start<typeof runExperiment>("runExperiment", {
      workflowId,
      taskQueue: QUEUES.orchestrate,
      args: [
        { name, settings: experiment, ...(options.continue === true ? {} : { lastIteration: iteration }) },
      ],
      workflowIdReusePolicy: "ALLOW_DUPLICATE",
      workflowIdConflictPolicy: "FAIL",
      staticSummary: `replay of iteration ${iteration}, try ${scope.try}${options.from === null ? "" : `, from ${options.from}`}`,
    });
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) throw stillRunning(name, error);
    throw error;
  }
  return { scope, workflowId, plan };
}

async function prepare(
  context: Context,
  name: string,
  iteration: number,
  { from, with: assignments }: ReplayOptions,
): Promise<Prepared> {
  const { db } = context;
  await getExperiment(db, name);
  const base = await baseTry(db, name, iteration);
  if (await runs(context, name)) throw stillRunning(name);
  const { settings, overrides } = overridden((base.pinned as RunIterationInput).settings, assignments);
  const extents = remade(Object.keys(overrides), from);
  const finished = new Map(
    (await listPieces(db, name, iteration)).map((found) => [`${found.piece} ${found.slot}`, found]),
  );
  const pieces = PIECES.map((piece): PlannedPieces => {
    const all = [...finished.values()].filter((found) => found.piece === piece);
    const extent = extents[piece];
    const redone = all.filter(({ later }) => extent === "all" || (extent === "later" && later)).length;
    return { piece, phase: PHASE_OF[piece], reused: all.length - redone, redone };
  });
  const last = (await listTries(db, name, iteration)).at(-1)!;
  const attempt = last.status === "pending" ? last.try : last.try + 1;
  const plan = { experiment: name, iteration, try: attempt, base: base.try, from, overrides, pieces };
  return { plan, base, settings };
}

/** The latest try that has begun. */
async function baseTry(db: Db, name: string, iteration: number): Promise<IterationRow> {
  const rows = await listTries(db, name);
  const base = rows.findLast((row) => row.iteration === iteration && row.status !== "pending");
  if (base !== undefined) return base;
  const begun = [...new Set(rows.filter(({ iteration }) => iteration > 0).map((row) => row.iteration))];
  throw new ReplayError(
    "missing",
    `experiment "${name}" has no iteration ${iteration}: ${begun.length === 0 ? "none has begun; tadpole run starts it again" : `it has ${begun.join(", ")}`}`,
  );
}

function stillRunning(name: string, cause?: unknown): ReplayError {
  return new ReplayError(
    "running",
    `experiment "${name}" is running: stop it first (tadpole stop ${name}), or wait for its end`,
    { cause },
  );
}

async function runs(context: Context, name: string): Promise<boolean> {
  return isRunning(context, name).catch((error) => {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  });
}

/** Throws SettingsError for a value that cannot be, and for a setting that an iteration does not read. */
export function overridden(
  settings: ExperimentSettings,
  assignments: readonly string[],
): { readonly settings: ExperimentSettings; readonly overrides: Readonly<Record<string, unknown>> } {
  const changed = applyOverrides(settings, assignments);
  const paths = assignments.map((assignment) => assignment.slice(0, assignment.indexOf("=")));
  for (const path of paths) {
    if (isReplayable(path)) continue;
    throw new SettingsError("impossible-value", {
      file: "--with",
      field: path,
      line: null,
      found: "a setting that a single iteration does not read, or whose input is pinned",
      expected: `one of ${REPLAYABLE.join(", ")}, or a field of one`,
    });
  }
  return {
    settings: changed,
    overrides: Object.fromEntries(paths.map((path) => [path, settingAt(changed, path)])),
  };
}
