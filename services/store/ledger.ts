/**
 * Attempts at a rollout and their live ledger. A slot has one current attempt, known by a random fence; whoever holds an older fence
 * can write nothing any more. Accepting a rollout and deleting its ledger rows is one transaction.
 */
import { randomUUID } from "node:crypto";
import { type RawBuilder, sql } from "kysely";
import { TOKEN_CLASSES, type TokenCounts } from "../../core/spend.ts";
import type { TurnRecord, VersionFrom } from "../../core/trajectory.ts";
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

export interface Slot {
  readonly rolloutKey: string;
  readonly experiment: string;
  /** The experiment's epoch: its infrastructure budget counts failures of one epoch only. */
  readonly epoch: number;
}

export interface OpenedAttempt extends Attempt {
  /** Turns taken over from the attempt before, in order. */
  readonly resumed: LedgerRow[];
  /** The attempt before; null for the first. */
  readonly previous: (Attempt & { readonly error: string | null }) | null;
}

/** What the loop needs to go on from a turn, and is no part of the trajectory. Seconds are sums over the rollout. */
export interface ReplyState {
  readonly text: string;
  readonly finish: "stop" | "length";
  readonly treeBefore: string;
  readonly namesBefore: string;
  /** Content key of the rollout that the turn is of. */
  readonly contentKey?: string;
  /** Of this turn; absent in rows of earlier versions. */
  readonly tokens?: TokenCounts;
  /** Of the sampled tokens, where weights changed within the turn. */
  readonly versions?: readonly VersionFrom[];
  readonly modelSeconds: number;
  readonly toolSeconds: number;
}

/** One turn as the ledger keeps it. Token ids are signed 32-bit, log-probabilities nats, one per sampled token. */
export interface LedgerRow {
  readonly record: TurnRecord;
  readonly promptTokens: readonly number[];
  readonly sampledTokens: readonly number[];
  readonly logProbs: readonly number[];
  readonly weightVersion: string;
  readonly newSegment: boolean;
  readonly reply: ReplyState;
  /** False from the model's answer until the results of its calls are recorded. */
  readonly answered: boolean;
}

/** One writer per slot at a time, also when the slot has no row yet; released at the end of the transaction. */
export async function lockSlot(db: Executor, rolloutKey: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${rolloutKey}, 0))`.execute(db);
}

/** Makes a new attempt the slot's current one: a running one is superseded, and the slot's turns now belong to the new fence. */
export async function openAttempt(db: Db, slot: Slot): Promise<OpenedAttempt> {
  const { rolloutKey, experiment, epoch } = slot;
  return db.transaction().execute(async (tx) => {
    await lockSlot(tx, rolloutKey);
    await tx
      .updateTable("attempts")
      .set({ status: "superseded", updated_at: sql`now()` } as never)
      .where("rollout_key", "=", rolloutKey)
      .where("status", "=", "running")
      .execute();
    const previous = await tx
      .selectFrom("attempts")
      .select(["attempt", "fence", "error"])
      .where("rollout_key", "=", rolloutKey)
      .orderBy("attempt", "desc")
      .limit(1)
      .executeTakeFirst();
    const opened = { attempt: (previous?.attempt ?? 0) + 1, fence: randomUUID() };
    await tx
      .updateTable("ledger")
      .set({ fence: opened.fence } as never)
      .where("rollout_key", "=", rolloutKey)
      .execute();
    const resumed = await readLedger(tx, opened.fence);
    await tx
      .insertInto("attempts")
      .values({
        rollout_key: rolloutKey,
        status: "running",
        error: null,
        experiment,
        epoch,
        resumed_from: resumed.length > 0 ? previous!.attempt : null,
        resumed_turns: resumed.length > 0 ? resumed.length : null,
        ...opened,
      })
      .execute();
    return { ...opened, resumed, previous: previous ?? null };
  });
}

/**
 * Deletes turns that nobody goes on from; what they took is noted with the attempt that had them last. Turns of earlier versions, which were not
 * counted, are noted by nothing.
 */
export async function discardTurns(tx: Executor, which: RawBuilder<boolean>): Promise<void> {
  const sum = (name: keyof TokenCounts) =>
    sql`sum((reply -> 'tokens' ->> ${sql.lit(name)})::bigint) + coalesce((attempts.lost_tokens ->> ${sql.lit(name)})::bigint, 0)`;
  await sql`
    with gone as (delete from ledger where ${which} returning fence, reply)
    update attempts set lost_tokens = lost.tokens
    from (
      select fence, jsonb_build_object(${sql.join(
        TOKEN_CLASSES.flatMap((name) => [sql.lit(name), sum(name)]),
      )}) as tokens
      from gone join attempts using (fence) where reply -> 'tokens' is not null
      group by fence, attempts.lost_tokens
    ) as lost
    where attempts.fence = lost.fence`.execute(tx);
}

/** Drops the turns that an attempt took over, and records why: it begins anew. Throws StoreError `fenced`. */
export async function dropTurns(db: Db, fence: string, note: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const current = await tx
      .updateTable("attempts")
      .set({ note, resumed_from: null, resumed_turns: null, updated_at: sql`now()` } as never)
      .where("fence", "=", fence)
      .where("status", "=", "running")
      .returning("fence")
      .executeTakeFirst();
    if (!current) throw fenced(fence);
    await discardTurns(tx, sql`fence = ${fence}`);
  });
}

/** Ends what is left of a slot that needs no attempt any more: a running one is superseded, its turns are deleted. */
export async function closeSlot(db: Db, rolloutKey: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await lockSlot(tx, rolloutKey);
    await tx
      .updateTable("attempts")
      .set({ status: "superseded", updated_at: sql`now()` } as never)
      .where("rollout_key", "=", rolloutKey)
      .where("status", "=", "running")
      .execute();
    await discardTurns(tx, sql`rollout_key = ${rolloutKey}`);
  });
}

/** Failed attempts of a slot in one epoch, of the given failure types. */
export async function countFailures(
  db: Executor,
  slot: Pick<Slot, "rolloutKey" | "epoch">,
  kinds: readonly string[],
): Promise<number> {
  const { count } = await db
    .selectFrom("attempts")
    .select((eb) => eb.fn.countAll<string>().as("count"))
    .where("rollout_key", "=", slot.rolloutKey)
    .where("epoch", "=", slot.epoch)
    .where("status", "=", "failed")
    .where("kind", "in", [...kinds])
    .executeTakeFirstOrThrow();
  return Number(count);
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
      (rollout_key, fence, turn, prompt_tokens, sampled_tokens, log_probs, weight_version, new_segment, record, reply, answered)
    select rollout_key, fence, ${turn.record.turn}::integer, ${encodeTokens(turn.promptTokens)}::bytea,
      ${encodeTokens(turn.sampledTokens)}::bytea, ${encodeFloats(turn.logProbs)}::bytea,
      ${turn.weightVersion}, ${turn.newSegment}::boolean, ${JSON.stringify(turn.record)}::json,
      ${JSON.stringify(turn.reply)}::json, ${turn.answered}::boolean
    from current_attempt
    returning turn`.execute(db);
  if (written.rows.length === 0) throw fenced(fence);
}

/** Puts the results of a turn's calls into its row. Throws StoreError `fenced` when the fence is not current. */
export async function completeTurn(db: Db, fence: string, turn: LedgerRow): Promise<void> {
  const written = await sql<{ turn: number }>`
    with current_attempt as (
      select fence from attempts where fence = ${fence} and status = 'running' for share
    )
    update ledger set record = ${JSON.stringify(turn.record)}::json, reply = ${JSON.stringify(turn.reply)}::json,
      answered = true
    from current_attempt
    where ledger.fence = current_attempt.fence and ledger.turn = ${turn.record.turn}::integer
    returning ledger.turn`.execute(db);
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
    reply: row.reply as ReplyState,
    answered: row.answered,
  }));
}

/**
 * Accepts a rollout for its slot in one transaction: the fence is checked, the row written, the slot's ledger rows deleted, the attempt
 * marked accepted. A slot that is already accepted with the same content key gives its row back, whatever the fence. What a superseded
 * attempt came to is kept with the attempt and changes nothing.
 * Throws StoreError `fenced`, or `conflict` when the slot was accepted with another content key.
 */
export async function sealRollout(db: Db, fence: string, rollout: Row<"rollouts">): Promise<RolloutRow> {
  const sealed = await db.transaction().execute(async (tx) => {
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
    if (closed && accepted) await discardTurns(tx, sql`fence = ${fence}`);
    else if (closed) await tx.deleteFrom("ledger").where("fence", "=", fence).execute();
    if (accepted || !closed) await keepLateResult(tx, fence, rollout);
    if (accepted || !closed) return accepted;
    return tx
      .insertInto("rollouts")
      .values(encodeRow(rollout) as never)
      .returningAll()
      .executeTakeFirstOrThrow();
  });
  if (sealed === undefined) throw fenced(fence);
  return sealed;
}

async function keepLateResult(db: Executor, fence: string, rollout: Row<"rollouts">): Promise<void> {
  const { content_key, exit, turns, generated_tokens, tree_hash, trajectory } = rollout;
  const late = { content_key, exit, turns, generated_tokens, tree_hash, trajectory };
  await db
    .updateTable("attempts")
    .set({ late_result: JSON.stringify(late), updated_at: sql`now()` } as never)
    .where("fence", "=", fence)
    .where("status", "=", "superseded")
    .execute();
}

/**
 * Ends a running attempt without a result. `kind` is a failure type (core/failures.ts). With `keepTurns` the next attempt goes on from
 * its turns. An attempt that is no longer current is left as it is; true = it was.
 */
export async function failAttempt(
  db: Db,
  fence: string,
  failure: { readonly kind: string; readonly error: string; readonly keepTurns: boolean },
): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    const closed = await tx
      .updateTable("attempts")
      .set({
        status: "failed",
        kind: failure.kind,
        error: withoutNul(failure.error),
        updated_at: sql`now()`,
      } as never)
      .where("fence", "=", fence)
      .where("status", "=", "running")
      .returning("fence")
      .executeTakeFirst();
    if (closed && !failure.keepTurns) await discardTurns(tx, sql`fence = ${fence}`);
    return closed !== undefined;
  });
}

/** Postgres text holds no NUL, and what a tool printed may. */
export const withoutNul = (text: string): string => text.replaceAll("\0", "\u2400");
