/** Replay: a further try of an iteration from the same pinned input, which takes over what earlier tries finished (docs/replay.md). */
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from "@temporalio/client";
import { canonicalJson } from "../../core/canonical.ts";
import { describeExperiment } from "../../core/descriptions.ts";
import type { ExperimentSettings } from "../../core/experiment.ts";
import { experimentId } from "../../core/ids.ts";
import { PHASE_OF, PIECES } from "../../core/replay.ts";
import type { Scope } from "../../core/scope.ts";
import {
  addTry,
  countPieces,
  findReplay,
  getExperiment,
  listTries,
  type ReplayRecord,
  recordEvent,
  replayingAlone,
  setStatus,
} from "../../services/store/index.ts";
import { searchAttributes } from "../../workflows/attributes.ts";
import { QUEUES } from "../../workflows/queues.ts";
import type { runExperiment } from "../../workflows/runExperiment.ts";
import type { RunIterationInput } from "../../workflows/runIteration.ts";
import { codeVersion } from "./checks.ts";
import { steeringSoFar } from "./experiments.ts";
import {
  type PlannedPieces,
  prepareReplay,
  type ReplayContext,
  ReplayError,
  type ReplayOptions,
  type ReplayPlan,
  stillRunning,
} from "./replay-plan.ts";

export interface ReplayRequest extends ReplayOptions {
  /** Names the request: the same one again gives the same try and starts nothing. */
  readonly request: string;
}

export interface StartedReplay {
  readonly scope: Scope;
  readonly workflowId: string;
  readonly plan: ReplayPlan;
}

/** Records the try and starts the experiment again, which runs it first. Throws as `planReplay` does. */
export async function startReplay(
  outside: ReplayContext,
  name: string,
  iteration: number,
  asked: ReplayRequest,
): Promise<StartedReplay> {
  // Before anything waits for a turn: whatever is asked of an unknown one is refused at once.
  await getExperiment(outside.db, name);
  const started = await replayingAlone(outside.db, name, async (db) => {
    const context = { ...outside, db };
    const before = await findReplay(db, name, asked.request);
    const replay = before ?? (await record(context, name, iteration, asked));
    const wanted = canonicalJson(optionsOf(iteration, asked));
    if (canonicalJson(replay.options) !== wanted)
      throw new ReplayError(
        "request",
        `request "${asked.request}" asked for another replay of experiment "${name}" before: ${canonicalJson(replay.options)}; expected a new id`,
      );
    if (before === undefined || !(await hasBegun(context, name, before)))
      await begin(context, name, replay, asked.continue === true);
    return {
      scope: { experiment: name, iteration: replay.iteration, try: replay.try },
      workflowId: experimentId(name),
      plan: replay.plan as ReplayPlan,
    };
  });
  if (started === undefined)
    throw new ReplayError("running", `a replay of experiment "${name}" is being started by someone else`);
  return started;
}

/** What a try took over and what it made, phase by phase. */
export async function replayCounts(
  { db }: Pick<ReplayContext, "db">,
  scope: Scope,
): Promise<readonly PlannedPieces[]> {
  const counts = await countPieces(db, scope);
  return PIECES.map((piece) => {
    const { reused = 0, made = 0 } = counts[piece] ?? {};
    return { piece, phase: PHASE_OF[piece], reused, redone: made };
  });
}

const optionsOf = (iteration: number, { from, with: overrides, continue: on = false }: ReplayOptions) => ({
  iteration,
  from,
  with: overrides,
  continue: on,
});

/** The pending try, with what it was asked for by. */
async function record(
  context: ReplayContext,
  name: string,
  iteration: number,
  asked: ReplayRequest,
): Promise<ReplayRecord> {
  const { plan, base, settings } = await prepareReplay(context, name, iteration, asked);
  const pinned = base.pinned as RunIterationInput;
  const replay = { request: asked.request, options: optionsOf(iteration, asked), plan };
  const scope = await addTry(context.db, {
    base,
    replay,
    from: asked.from,
    overrides: plan.overrides,
    codeVersion: await codeVersion(),
    pinned: (attempt): RunIterationInput => ({
      ...pinned,
      scope: { ...pinned.scope, try: attempt },
      settings,
      reuse: { from: asked.from },
    }),
  });
  return { ...replay, iteration, try: scope.try };
}

/** Whether the experiment was started for it: it may have died, or its asker may have, between the record and the start. */
async function hasBegun({ db, client }: ReplayContext, name: string, replay: ReplayRecord): Promise<boolean> {
  const tries = await listTries(db, name, replay.iteration);
  if (tries.find((row) => row.try === replay.try)?.status !== "pending") return true;
  const run = await client.workflow
    .getHandle(experimentId(name))
    .describe()
    .catch((error: unknown) => {
      if (error instanceof WorkflowNotFoundError) return null;
      throw error;
    });
  return run !== null && (run.status.name === "RUNNING" || run.memo?.[MEMO] === replay.request);
}

/** In the memo of the workflow: the request that it was started by. */
const MEMO = "request";

async function begin(
  { db, client }: ReplayContext,
  name: string,
  { request, iteration, try: attempt, options }: ReplayRecord,
  goesOn: boolean,
): Promise<void> {
  const { settings, status } = await getExperiment(db, name);
  const { from } = options as ReplayOptions;
  const phase = `try ${attempt} of iteration ${iteration}`;
  try {
    await setStatus(db, name, "running");
    await recordEvent(db, {
      key: `${name}/${phase}`,
      experiment: name,
      kind: "phase",
      detail: { iteration: 0, phase },
    });
    await client.workflow.start<typeof runExperiment>("runExperiment", {
      workflowId: experimentId(name),
      taskQueue: QUEUES.orchestrate,
      args: [
        {
          name,
          settings: settings as ExperimentSettings,
          steering: await steeringSoFar(db, name),
          ...(goesOn ? {} : { lastIteration: iteration }),
        },
      ],
      workflowIdReusePolicy: "ALLOW_DUPLICATE",
      workflowIdConflictPolicy: "FAIL",
      memo: { [MEMO]: request },
      ...describeExperiment(
        name,
        settings,
        `replay of iteration ${iteration}, try ${attempt}${from === null ? "" : `, from ${from}`}`,
      ),
      typedSearchAttributes: searchAttributes({ experiment: name, iteration: 0, phase: "preparation" }),
    });
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) throw stillRunning(name, error);
    await setStatus(db, name, status as Parameters<typeof setStatus>[2]).catch(() => {});
    throw error;
  }
}
