/**
 * Steering as it is on record. The hold of an experiment: while it stands, none of its activities in sandboxes and on GPUs begins, nor the assembly of
 * a batch, and those that can stop do. Whoever sees a reason sets it; a resume removes it and begins a new epoch, in which budgets and watchdogs
 * start from nothing. What was asked for stays too, so that a run that takes the experiment up again knows it.
 */
import { sql } from "kysely";
import { type Amendment, type Hold, REMEMBERED } from "../../core/steering.ts";
import type { Db } from "./database.ts";
import { recordEvent } from "./events.ts";
import { getExperiment } from "./experiments.ts";
import type { Executor } from "./rows.ts";
import { latestTries } from "./summary.ts";

export interface HoldState {
  readonly hold: Hold | null;
  readonly epoch: number;
}

/** Undefined when no experiment of that name is recorded. */
export async function readHold(db: Executor, experiment: string): Promise<HoldState | undefined> {
  const row = await db
    .selectFrom("experiments")
    .select(["hold", "epoch"])
    .where("name", "=", experiment)
    .executeTakeFirst();
  return row === undefined ? undefined : { hold: row.hold as Hold | null, epoch: row.epoch };
}

/**
 * The first reason stays until it is released. Returns the hold in force; null when no experiment of that name is recorded: nobody could
 * resume it.
 */
export async function holdExperiment(db: Executor, experiment: string, hold: Hold): Promise<Hold | null> {
  await db
    .updateTable("experiments")
    .set({ hold: JSON.stringify(hold), updated_at: sql`now()` } as never)
    .where("name", "=", experiment)
    .where("hold", "is", null)
    .execute();
  const state = await readHold(db, experiment);
  return state === undefined ? null : (state.hold ?? hold);
}

/**
 * Ends the hold and begins the next epoch. Returns the hold that this request ended, however often it asks; null where there was none.
 */
export async function releaseExperiment(
  db: Db,
  { experiment, request }: { readonly experiment: string; readonly request: string },
): Promise<Hold | null> {
  return db.transaction().execute(async (tx) => {
    const row = await tx
      .selectFrom("experiments")
      .select(["hold", "epoch"])
      .where("name", "=", experiment)
      .forUpdate()
      .executeTakeFirst();
    const key = `${experiment}/resume/${request}`;
    const before = await tx.selectFrom("events").select("detail").where("key", "=", key).executeTakeFirst();
    if (before !== undefined) return (before.detail as { hold: Hold }).hold;
    if (row === undefined || row.hold === null) return null;
    await tx
      .updateTable("experiments")
      .set({ hold: null, epoch: row.epoch + 1, updated_at: sql`now()` } as never)
      .where("name", "=", experiment)
      .execute();
    const detail = { request, hold: row.hold as Hold };
    await recordEvent(tx, { key, experiment, kind: "resume", detail });
    return detail.hold;
  });
}

/** Events that answer a request; `detail.request` is its id. */
const ASKED = ["pause", "resume", "stop", "skip", "amend"] as const;

/** Notes that a request was done. Resumes and amendments are noted as they are made. */
export async function recordRequest(
  db: Executor,
  { experiment, request, verb }: { experiment: string; request: string; verb: "pause" | "stop" | "skip" },
): Promise<void> {
  await recordEvent(db, {
    key: `${experiment}/${verb}/${request}`,
    experiment,
    kind: verb,
    detail: { request },
  });
}

/** All amendments as they stand, and the newest as an event with old and new value. */
export async function recordAmendments(
  db: Executor,
  experiment: string,
  amendments: readonly Amendment[],
): Promise<void> {
  await db
    .updateTable("experiments")
    .set({ amendments: JSON.stringify(amendments), updated_at: sql`now()` } as never)
    .where("name", "=", experiment)
    .execute();
  const newest = amendments.at(-1);
  if (newest === undefined) return;
  await recordEvent(db, {
    key: `${experiment}/amend/${newest.request}`,
    experiment,
    kind: "amend",
    detail: newest,
  });
}

export interface SteeringOnRecord {
  readonly hold: Hold | null;
  readonly amendments: readonly Amendment[];
  /** Ids of the latest requests, oldest first. */
  readonly answered: readonly string[];
  /** The last iteration whose input is pinned, 0 before the first: a stale one is pinned anew when it is run again. */
  readonly pinned: number;
}

/** What a new run of an experiment must know of the runs before it. Throws StoreError `missing`. */
export async function steeringOnRecord(db: Executor, name: string): Promise<SteeringOnRecord> {
  const { hold, amendments } = await getExperiment(db, name);
  const rows = await db
    .selectFrom("events")
    .select("detail")
    .where("experiment", "=", name)
    .where("kind", "in", [...ASKED])
    .orderBy("created_at", "desc")
    .orderBy("key")
    .limit(REMEMBERED)
    .execute();
  const tries = await latestTries(db, name);
  return {
    hold: hold as Hold | null,
    amendments: amendments as readonly Amendment[],
    answered: rows.flatMap(({ detail }) => (detail as { request?: string }).request ?? []).reverse(),
    pinned: tries.findLast(({ stale }) => !stale)?.iteration ?? 0,
  };
}
