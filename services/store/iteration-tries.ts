/** The tries of an iteration on record: what each finished, and the row of a further one (docs/replay.md). */
import { sql } from "kysely";
import type { Piece } from "../../core/replay.ts";
import type { ReplayPhase } from "../../core/reuse.ts";
import { type Scope, scopeKey } from "../../core/scope.ts";
import type { Db } from "./database.ts";
import { recordEvent } from "./events.ts";
import type { IterationRow } from "./experiments.ts";
import type { Executor } from "./rows.ts";
import { encodeRow } from "./rows.ts";

/** In the order they were begun. */
export async function listTries(
  db: Executor,
  experiment: string,
  iteration?: number,
): Promise<IterationRow[]> {
  let query = db.selectFrom("iterations").selectAll().where("experiment", "=", experiment);
  if (iteration !== undefined) query = query.where("iteration", "=", iteration);
  return query.orderBy("iteration").orderBy("try").execute();
}

export interface NewTry {
  readonly base: IterationRow;
  readonly from: ReplayPhase | null;
  /** Path -> value. */
  readonly overrides: Readonly<Record<string, unknown>>;
  readonly codeVersion: string;
  /** The pinned input of a try of that number. */
  readonly pinned: (attempt: number) => object;
}

/**
 * Writes the row of the next try, `pending` until it runs, and marks the rows of later iterations as stale. A try that is still pending is
 * replaced: nobody has begun it.
 */
export async function addTry(db: Db, { base, from, overrides, codeVersion, pinned }: NewTry): Promise<Scope> {
  const { experiment, iteration } = base;
  return db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(hashtextextended(${`${experiment}/it/${iteration}`}, 0))`.execute(
      tx,
    );
    const last = (await listTries(tx, experiment, iteration)).at(-1)!;
    const attempt = last.status === "pending" ? last.try : last.try + 1;
    await tx
      .deleteFrom("iterations")
      .where("experiment", "=", experiment)
      .where("iteration", "=", iteration)
      .where("try", "=", attempt)
      .execute();
    const row = {
      experiment,
      iteration,
      try: attempt,
      status: "pending",
      start_policy: base.start_policy,
      end_policy: null,
      pool: null,
      pinned: pinned(attempt),
      from_phase: from,
      overrides,
      base_try: base.try,
      code_version: codeVersion,
    };
    await tx
      .insertInto("iterations")
      .values(encodeRow(row) as never)
      .execute();
    await tx
      .updateTable("iterations")
      .set({ stale: true })
      .where("experiment", "=", experiment)
      .where("iteration", ">", iteration)
      .execute();
    return { experiment, iteration, try: attempt };
  });
}

export interface FinishedPiece {
  readonly piece: Piece;
  readonly try: number;
  /** Names it within its try. */
  readonly slot: string;
  /** Of a policy that an update of the iteration made. */
  readonly later: boolean;
  readonly reused: boolean;
}

/** Every finished piece of every try, but for candidates beyond the last one whose result was read: those are surplus. */
export async function listPieces(
  db: Executor,
  experiment: string,
  iteration: number,
): Promise<FinishedPiece[]> {
  const tries = new Map((await listTries(db, experiment, iteration)).map((row) => [row.try, row]));
  const isRead = (attempt: number, candidate: number): boolean =>
    candidate <= (tries.get(attempt)?.last_candidate ?? Number.POSITIVE_INFINITY);
  const found: FinishedPiece[] = [];

  const pieces = await db
    .selectFrom("pieces")
    .select(["kind", "try", "result", "reused_from"])
    .where("experiment", "=", experiment)
    .where("iteration", "=", iteration)
    .orderBy("try")
    .orderBy("kind")
    .orderBy("content_key")
    .execute();
  for (const { kind, try: attempt, result, reused_from } of pieces) {
    const made = result as { readonly index?: number; readonly candidate?: number; readonly update?: number };
    const number =
      kind === "candidate" ? made.index! : kind === "validation" ? made.candidate! : made.update!;
    if (kind !== "update" && !isRead(attempt, number)) continue;
    const piece = kind === "candidate" ? "candidates" : kind === "validation" ? "validations" : "updates";
    found.push({
      piece,
      try: attempt,
      slot: String(number),
      later: kind === "update" && number > 1,
      reused: reused_from !== null,
    });
  }

  const inTry = `${experiment}/it/${iteration}/try/`;
  const selecting = `${experiment}/eval/validation/validation-${iteration}-`;
  const rollouts = await db
    .selectFrom("rollouts")
    .select(["key", "policy", "reused_from", "verdict_from", "raw_reward"])
    .where((eb) =>
      eb.or([sql<boolean>`starts_with(key, ${inTry})`, sql<boolean>`starts_with(key, ${selecting})`]),
    )
    .orderBy("key")
    .execute();
  for (const { key, policy, reused_from, verdict_from, raw_reward } of rollouts) {
    const selects = key.startsWith(selecting);
    const rest = key.slice((selects ? selecting : inTry).length);
    const cut = rest.indexOf(selects ? "-" : "/");
    const attempt = Number(rest.slice(0, cut));
    const name = rest.slice(cut + 1);
    const kind = selects ? "selection" : name.startsWith("climb/") ? "climb" : "probe";
    if (kind === "probe" && !isRead(attempt, Number(name.split("/")[1]))) continue;
    // The policy is what was found, not where.
    const slot = selects ? name.replace(`/${policy}/`, "/") : name;
    const shared = { try: attempt, slot, later: policy !== tries.get(attempt)?.start_policy };
    found.push({ ...shared, piece: `${kind} rollouts`, reused: reused_from !== null });
    if (raw_reward !== null)
      found.push({ ...shared, piece: `${kind} verdicts`, reused: verdict_from !== null });
  }
  return found;
}

/** How many finished pieces of a kind a try took over and made itself. */
export type PieceCounts = Readonly<
  Partial<Record<Piece, { readonly reused: number; readonly made: number }>>
>;

export async function countPieces(db: Executor, scope: Scope): Promise<PieceCounts> {
  const counts: Partial<Record<Piece, { reused: number; made: number }>> = {};
  for (const { piece, try: attempt, reused } of await listPieces(db, scope.experiment, scope.iteration)) {
    if (attempt !== scope.try) continue;
    counts[piece] ??= { reused: 0, made: 0 };
    counts[piece][reused ? "reused" : "made"]++;
  }
  return counts;
}

/** Writes down, at the end of a replay, what it took over. */
export async function recordReuse(db: Executor, scope: Scope): Promise<void> {
  const { experiment, iteration, try: attempt } = scope;
  await recordEvent(db, {
    key: `${scopeKey(scope)}/reuse`,
    experiment,
    kind: "reuse",
    detail: { iteration, try: attempt, pieces: await countPieces(db, scope) },
  });
}
