/**
 * The infrastructure budget: how many failures are allowed, which is read whenever one happens, so that an amendment holds for all work at once;
 * and the books of an activity that fills no slot (a verdict, a validation, …): its failures are kept as failed attempts under a
 * key of its own, so that watchdogs see them, and counted by epoch.
 */
import { randomUUID } from "node:crypto";
import type { ExperimentSettings } from "../../core/experiment.ts";
import { type Amendment, amended } from "../../core/steering.ts";
import type { Db } from "./database.ts";
import { countFailures, lockSlot, withoutNul } from "./ledger.ts";
import type { Executor } from "./rows.ts";

export interface Retries {
  readonly epoch: number;
  /** `limits.infrastructureRetries`, as amended. */
  readonly retries: number;
}

/** Null when no experiment of that name is recorded. */
export async function readRetries(db: Executor, experiment: string): Promise<Retries | null> {
  const row = await db
    .selectFrom("experiments")
    .select(["settings", "amendments", "epoch"])
    .where("name", "=", experiment)
    .executeTakeFirst();
  if (row === undefined) return null;
  const { limits } = amended(
    row.settings as ExperimentSettings,
    row.amendments as unknown as readonly Amendment[],
    Number.POSITIVE_INFINITY,
  );
  return { epoch: row.epoch, retries: limits.infrastructureRetries };
}

export interface SpentRetries {
  /** Failures of that key in the present epoch, the new one included. */
  readonly failures: number;
  /** `limits.infrastructureRetries`, as amended. */
  readonly retries: number;
}

/** Notes a failure of an activity; null when no experiment of that name is recorded. `kinds` = the failure types that count. */
export async function spendRetry(
  db: Db,
  activity: { readonly key: string; readonly experiment: string },
  failure: { readonly kind: string; readonly error: string },
  kinds: readonly string[],
): Promise<SpentRetries | null> {
  const { experiment } = activity;
  // No experiment's name holds a colon: no slot has such a key.
  const rolloutKey = `activity:${activity.key}`;
  return db.transaction().execute(async (tx) => {
    await lockSlot(tx, rolloutKey);
    const allowed = await readRetries(tx, experiment);
    if (allowed === null) return null;
    const { epoch, retries } = allowed;
    const { last } = await tx
      .selectFrom("attempts")
      .select((eb) => eb.fn.coalesce(eb.fn.max("attempt"), eb.lit(0)).as("last"))
      .where("rollout_key", "=", rolloutKey)
      .executeTakeFirstOrThrow();
    await tx
      .insertInto("attempts")
      .values({
        rollout_key: rolloutKey,
        attempt: last + 1,
        fence: randomUUID(),
        status: "failed",
        kind: failure.kind,
        error: withoutNul(failure.error),
        experiment,
        epoch,
      })
      .execute();
    return { failures: await countFailures(tx, { rolloutKey, epoch }, kinds), retries };
  });
}
