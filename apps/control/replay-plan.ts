/** Replay, before anything is recorded: what a further try of an iteration would re-use and make anew (docs/replay.md). */
import type { Client } from "@temporalio/client";
import type { ExperimentSettings } from "../../core/experiment.ts";
import { isReplayable, PHASE_OF, PIECES, type Piece, REPLAYABLE, remade } from "../../core/replay.ts";
import type { ReplayPhase } from "../../core/reuse.ts";
import { applyOverrides, SettingsError } from "../../core/schemas/index.ts";
import { settingAt } from "../../core/steering.ts";
import {
  type ArtifactStore,
  type Db,
  type FinishedPiece,
  getExperiment,
  type IterationRow,
  isWhole,
  listPieces,
  listTries,
} from "../../services/store/index.ts";
import type { RunIterationInput } from "../../workflows/runIteration.ts";
import { isRunning } from "./experiments.ts";

export type ReplayErrorKind = "missing" | "running" | "request";

/** `missing`: no such iteration; `running`: the experiment has to be stopped first; `request`: its id was another replay's. */
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
  /** Throws where whoever asks may not have these settings. */
  readonly check?: (settings: ExperimentSettings) => void;
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

export interface Prepared {
  readonly plan: ReplayPlan;
  readonly base: IterationRow;
  readonly settings: ExperimentSettings;
}

export interface ReplayContext {
  readonly db: Db;
  readonly client: Client;
  readonly artifacts: ArtifactStore;
}

/** What a replay would re-use and make anew; changes nothing. Throws ReplayError, SettingsError, StoreError `missing`. */
export async function planReplay(
  context: ReplayContext,
  name: string,
  iteration: number,
  options: ReplayOptions,
): Promise<ReplayPlan> {
  return (await prepareReplay(context, name, iteration, options)).plan;
}

/** Everything that is settled before the try is recorded. Throws as `planReplay` does. */
export async function prepareReplay(
  context: ReplayContext,
  name: string,
  iteration: number,
  { from, with: assignments, check }: ReplayOptions,
): Promise<Prepared> {
  const { db, artifacts } = context;
  await getExperiment(db, name);
  const base = await baseTry(db, name, iteration);
  if (await isRunning(context, name)) throw stillRunning(name);
  const { settings, overrides } = overridden((base.pinned as RunIterationInput).settings, assignments);
  check?.(settings);
  const extents = remade(Object.keys(overrides), from);
  const finished = new Map(
    (await listPieces(db, name, iteration)).map((found) => [`${found.piece} ${found.slot}`, found]),
  );
  const lost = await lostContent(artifacts, [...finished.values()]);
  const pieces = PIECES.map((piece): PlannedPieces => {
    const all = [...finished.values()].filter((found) => found.piece === piece);
    const extent = extents[piece];
    const isRedone = ({ later, content }: FinishedPiece): boolean =>
      extent === "all" || (extent === "later" && later) || (content !== null && lost.has(content.sha256));
    const redone = all.filter(isRedone).length;
    return { piece, phase: PHASE_OF[piece], reused: all.length - redone, redone };
  });
  const last = (await listTries(db, name, iteration)).at(-1)!;
  const attempt = last.status === "pending" ? last.try : last.try + 1;
  const plan = { experiment: name, iteration, try: attempt, base: base.try, from, overrides, pieces };
  return { plan, base, settings };
}

/** sha256 of what finished pieces refer to and is missing or damaged. */
async function lostContent(
  artifacts: ArtifactStore,
  pieces: readonly FinishedPiece[],
): Promise<ReadonlySet<string>> {
  const bySha = new Map(
    pieces.flatMap(({ content }) => (content === null ? [] : [[content.sha256, content]])),
  );
  const lost = new Set<string>();
  for (const [sha256, content] of bySha) if (!(await isWhole(artifacts, content))) lost.add(sha256);
  return lost;
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

export function stillRunning(name: string, cause?: unknown): ReplayError {
  return new ReplayError(
    "running",
    `experiment "${name}" is running: stop it first (tadpole stop ${name}), or wait for its end`,
    { cause },
  );
}

/** Throws SettingsError for a value that cannot be, and for a setting that an iteration does not read. */
function overridden(
  settings: ExperimentSettings,
  assignments: readonly string[],
): { readonly settings: ExperimentSettings; readonly overrides: Readonly<Record<string, unknown>> } {
  const changed = applyOverrides(settings, assignments, "--with");
  const pathOf = (assignment: string): string => assignment.slice(0, assignment.indexOf("="));
  for (const assignment of assignments) {
    const path = pathOf(assignment);
    if (isReplayable(path)) continue;
    throw new SettingsError("impossible-value", {
      file: `--with ${assignment}`,
      field: path,
      line: null,
      found: "a setting that a single iteration does not read, or whose input is pinned",
      expected: `one of ${REPLAYABLE.join(", ")}, or a field of one`,
    });
  }
  return {
    settings: changed,
    overrides: Object.fromEntries(assignments.map(pathOf).map((path) => [path, settingAt(changed, path)])),
  };
}
