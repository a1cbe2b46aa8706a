/**
 * Attempts at a rollout and their live ledger. A slot has one current attempt, known by a random fence; whoever holds an older fence
 * can write nothing any more. Accepting a rollout and deleting its ledger rows is one transaction.
 */
import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { TurnRecord } from "../../core/trajectory.ts";
import type { Db } from "./database.ts";
import { StoreError } from "./errors.ts";
import { findRollout, type RolloutRow } from "./rollouts.ts";
import { type Executor, encodeRow, type Row } from "./rows.ts";
import { decodeFloats, decodeTokens, encodeFloats, encodeTokens } from "./tokens.ts";

export interface Attempt {
  /** 1 for the first attempt at the slot. */
  readonly attempt: number;
  readonly fence: string;
}

/** One turn as the ledger keeps it. Token ids are signed 32-bit, log-probabilities nats, one per sampled token. */
export interface LedgerRow {
  readonly record: TurnRecord;
  readonly promptTokens: readonly number[];
  readonly sampledTokens: readonly number[];
  readonly logProbs: readonly number[];
  readonly weightVersion: string;
  readonly newSegment: boolean;
}

/** One writer per slot at a time, also when the slot has no row yet; released at the end of the transaction. */
async function lockSlot(db: Executor, rolloutKey: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${rolloutKey}, 0))`.execute(db);
}

/** Makes a new attempt the slot's current one: older running attempts are superseded and their ledger rows deleted. */
export async function openAttempt(db: Db, rolloutKey: string): Promise<Attempt> {
  return db.transaction().execute(async (tx) => {
    await lockSlot(tx, rolloutKey);
    await tx
      .updateTable("attempts")
      .set({ status: "superseded", updated_at: sql`now()` } as never)
      .where("rollout_key", "=", rolloutKey)
      .where("status", "=", "running")
      .execute();
    await tx.deleteFrom("ledger").where("rollout_key", "=", rolloutKey).execute();
    const last = await tx
      .selectFrom("attempts")
      .select((eb) => eb.fn.max("attempt").as("attempt"))
      .where("rollout_key", "=", rolloutKey)
      .executeTakeFirst();
    const opened = { attempt: (last?.attempt ?? 0) + 1, fence: randomUUID() };
    await tx
      .insertInto("attempts")
      .values({ rollout_key: rolloutKey, status: "running", error: null, ...opened })
      .execute();
    return opened;
  });
}

function fenced(fence: string): StoreError {
  return new StoreError("fenced", `attempt ${fence} is no longer its slot's current one`);
}

/** Commits one turn. Throws StoreError `fenced` when the fence is not current, `conflict` when the turn is already there. */
export async function appendTurn(db: Db, fence: string, turn: LedgerRow): Promise<void> {
  if (turn.logProbs.length !== turn.sampledTokens.length)
    throw new StoreError(
      "invalid",
      `turn ${turn.record.turn}: ${turn.logProbs.length} log-probabilities for ${turn.sampledTokens.length} sampled tokens`,
    );
  // The share lock holds off a newer attempt until this row is committed, so that its deletion sees the row.
  const written = await sql<{ turn: number }>`
    with current_attempt as (
      select rollout_key, fence from attempts where fence = ${fence} and status = 'running' for share
    )
    insert into ledger
      (rollout_key, fence, turn, prompt_tokens, sampled_tokens, log_probs, weight_version, new_segment, record)
    select rollout_key, fence, ${turn.record.turn}::integer, ${encodeTokens(turn.promptTokens)}::bytea,
      ${encodeTokens(turn.sampledTokens)}::bytea, ${encodeFloats(turn.logProbs)}::bytea,
      ${turn.weightVersion}, ${turn.newSegment}::boolean, ${JSON.stringify(turn.record)}::json
    from current_attempt
    returning turn`.execute(db);
  if (written.rows.length === 0) throw fenced(fence);
}

/** The committed turns of an attempt, in order. */
export async function readLedger(db: Executor, fence: string): Promise<LedgerRow[]> {
  const rows = await db.selectFrom("ledger").selectAll().where("fence", "=", fence).orderBy("turn").execute();
  return rows.map((row) => ({
    record: row.record as TurnRecord,
    promptTokens: decodeTokens(row.prompt_tokens),
    sampledTokens: decodeTokens(row.sampled_tokens),
    logProbs: decodeFloats(row.log_probs),
    weightVersion: row.weight_version,
    newSegment: row.new_segment,
  }));
}

/**
 * Accepts a rollout for its slot in one transaction: the fence is checked, the row written, the slot's ledger rows deleted, the attempt
 * marked accepted. A slot that is already accepted with the same content key gives its row back, whatever the fence.
 * Throws StoreError `fenced`, or `conflict` when the slot was accepted with another content key.
 */
export async function sealRollout(db: Db, fence: string, rollout: Row<"rollouts">): Promise<RolloutRow> {
  return db.transaction().execute(async (tx) => {
    await lockSlot(tx, rollout.key);
    const accepted = await findRollout(tx, rollout.key);
    if (accepted && accepted.content_key !== rollout.content_key)
      throw new StoreError(
        "conflict",
        `rollout ${rollout.key} is already accepted with content ${accepted.content_key}, not ${rollout.content_key}`,
      );
    const closed = await tx
      .updateTable("attempts")
      .set({ status: accepted ? "superseded" : "accepted", updated_at: sql`now()` } as never)
      .where("fence", "=", fence)
      .where("rollout_key", "=", rollout.key)
      .where("status", "=", "running")
      .returning("attempt")
      .executeTakeFirst();
    if (closed) await tx.deleteFrom("ledger").where("fence", "=", fence).execute();
    if (accepted) return accepted;
    if (!closed) throw fenced(fence);
    return tx
      .insertInto("rollouts")
      .values(encodeRow(rollout) as never)
      .returningAll()
      .executeTakeFirstOrThrow();
  });
}

/** Ends a running attempt without a result. An attempt that is no longer current is left as it is. */
export async function failAttempt(db: Db, fence: string, kind: string, error: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const closed = await tx
      .updateTable("attempts")
      // Postgres text holds no NUL, and what a tool printed may.
      .set({
        status: "failed",
        error: `${kind}: ${error}`.replaceAll("\0", "\u2400"),
        updated_at: sql`now()`,
      } as never)
      .where("fence", "=", fence)
      .where("status", "=", "running")
      .returning("fence")
      .executeTakeFirst();
    if (closed) await tx.deleteFrom("ledger").where("fence", "=", fence).execute();
  });
}
