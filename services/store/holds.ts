/**
 * The hold of an experiment: while it is on record, no activity of the experiment begins and those that can stop do. Whoever sees a reason
 * sets it; a resume removes it and begins a new epoch, in which budgets and watchdogs start from nothing.
 */
import { sql } from "kysely";
import type { Hold } from "../../core/steering.ts";
import { StoreError } from "./errors.ts";
import type { Executor } from "./rows.ts";

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

/** The first reason stays until it is released. Returns the hold in force. Throws StoreError `missing`. */
export async function holdExperiment(db: Executor, experiment: string, hold: Hold): Promise<Hold> {
  await db
    .updateTable("experiments")
    .set({ hold: JSON.stringify(hold), updated_at: sql`now()` } as never)
    .where("name", "=", experiment)
    .where("hold", "is", null)
    .execute();
  const state = await readHold(db, experiment);
  if (state === undefined) throw new StoreError("missing", `no experiment "${experiment}" is recorded`);
  return state.hold ?? hold;
}

/** Ends the hold and begins the next epoch; without a hold nothing changes. */
export async function releaseExperiment(db: Executor, experiment: string): Promise<void> {
  await db
    .updateTable("experiments")
    .set({ hold: null, epoch: sql`epoch + 1`, updated_at: sql`now()` } as never)
    .where("name", "=", experiment)
    .where("hold", "is not", null)
    .execute();
}
