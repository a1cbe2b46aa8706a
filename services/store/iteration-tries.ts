/** The tries of an iteration on record: what each finished, and the row of a further one (docs/replay.md). */
import { sql } from "kysely";
import type { ArtifactRef } from "../../core/artifact.ts";
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

/** What asked for a try, so that the same request again gives the same try. */
export interface ReplayRecord {
  readonly request: string;
  readonly iteration: number;
  readonly try: number;
  /** As asked for. */
  readonly options: object;
  /** What was answered. */
  readonly plan: object;
}

export interface NewTry {
  readonly base: IterationRow;
  /** Recorded with the try, as an event of kind `replay`. */
  readonly replay: Omit<ReplayRecord, "iteration" | "try">;
  readonly from: ReplayPhase | null;
  /** Path -> value. */
  readonly overrides: Readonly<Record<string, unknown>>;
  readonly codeVersion: string;
  /** The pinned input of a try of that number. */
  readonly pinned: (attempt: number) => object;
}

const replayKey = (experiment: string, request: string): string => `${experiment}/replay/${request}`;

/** The replay that a request of this id asked for; undefined where none did. */
export async function findReplay(
  db: Executor,
  experiment: string,
  request: string,
): Promise<ReplayRecord | undefined> {
  const row = await db
    .selectFrom("events")
    .select("detail")
    .where("key", "=", replayKey(experiment, request))
    .executeTakeFirst();
  return row?.detail as ReplayRecord | undefined;
}

/**
 * Runs `work` while nobody else does for the same experiment, in whatever process; gives undefined without running it where somebody does.
 * `work` gets the connection that holds the lock and must use no other: work that waited for a second one while it keeps the first could use
 * the whole pool up. What it writes is committed on its own: only its exclusion ends with the connection.
 */
export async function replayingAlone<T>(
  db: Db,
  experiment: string,
  work: (alone: Db) => Promise<T>,
): Promise<T | undefined> {
  const lock = `${experiment}/replay`;
  return db.connection().execute(async (alone) => {
    const { rows } = await sql<{ mine: boolean }>`
      select pg_try_advisory_lock(hashtextextended(${lock}, 0)) as mine`.execute(alone);
    if (!rows[0]!.mine) return undefined;
    try {
      return await work(alone);
    } finally {
      await sql`select pg_advisory_unlock(hashtextextended(${lock}, 0))`.execute(alone);
    }
  });
}

/**
 * Writes the row of the next try, `pending` until it runs, and marks the rows of later iterations as stale. A try that is still pending is
 * replaced: nobody has begun it.
 */
export async function addTry(
  db: Db,
  { base, replay, from, overrides, codeVersion, pinned }: NewTry,
): Promise<Scope> {
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
    const asked: ReplayRecord = { ...replay, iteration, try: attempt };
    await recordEvent(tx, {
      key: replayKey(experiment, replay.request),
      experiment,
      kind: "replay",
      detail: asked,
    });
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
  /** What must be there whole for the piece to be taken over; null where nothing must. */
  readonly content: ArtifactRef | null;
}

/** Every finished piece of every try, but for candidates beyond the last one whose result was read: those are surplus. */
export async function listPieces(
  db: Executor,
  experiment: string,
  iteration: number,
): Promise<FinishedPiece[]> {
  const tries = new Map((await listTries(db, experiment, iteration)).map((row) => [row.try, row]));
  const closed = [...tries.values()].flatMap(({ last_candidate }) => last_candidate ?? []);
  // A pool that was never closed drew ahead, too: another try's says how far.
  const furthest = closed.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...closed);
  const isRead = (attempt: number, candidate: number): boolean =>
    candidate <= (tries.get(attempt)?.last_candidate ?? furthest);
  const found: FinishedPiece[] = [];

  const pieces = await db
    .selectFrom("pieces")
    .select(["kind", "try", "result", "reused_from"])
    .where("experiment", "=", experiment)
    .where("iteration", "=", iteration)
    .where("kind", "not in", ["reply", "rewrite"])
    .orderBy("try")
    .orderBy("kind")
    .orderBy("content_key")
    .execute();
  const tasks = new Map(
    (
      await db.selectFrom("tasks").select(["id", "artifact"]).where("id", "in", taskIds(pieces)).execute()
    ).map(({ id, artifact }) => [id, artifact as ArtifactRef]),
  );
  for (const { kind, try: attempt, result, reused_from } of pieces) {
    const [number, content] = numbered(kind, result, tasks);
    if (kind !== "update" && !isRead(attempt, number)) continue;
    const piece = kind === "candidate" ? "candidates" : kind === "validation" ? "validations" : "updates";
    found.push({
      piece,
      try: attempt,
      slot: String(number),
      later: kind === "update" && number > 1,
      reused: reused_from !== null,
      content,
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
    const shared = { try: attempt, slot, later: policy !== tries.get(attempt)?.start_policy, content: null };
    found.push({ ...shared, piece: `${kind} rollouts`, reused: reused_from !== null });
    if (raw_reward !== null)
      found.push({ ...shared, piece: `${kind} verdicts`, reused: verdict_from !== null });
  }
  return found;
}

interface PieceResult {
  readonly kind: string;
  readonly result: unknown;
}

function taskIds(pieces: readonly PieceResult[]): string[] {
  const ids = pieces.flatMap(({ kind, result }) =>
    kind === "validation" ? ((result as { readonly taskId: string | null }).taskId ?? []) : [],
  );
  // An empty list is no SQL.
  return ids.length === 0 ? [""] : [...new Set(ids)];
}

/** Number of a piece among its kind, and what it refers to. */
function numbered(
  kind: string,
  result: unknown,
  tasks: ReadonlyMap<string, ArtifactRef>,
): readonly [number: number, content: ArtifactRef | null] {
  if (kind === "candidate") {
    const drawn = result as {
      readonly index: number;
      readonly candidate?: { readonly artifact: ArtifactRef };
    };
    return [drawn.index, drawn.candidate?.artifact ?? null];
  }
  if (kind === "validation") {
    const gated = result as { readonly candidate: number; readonly taskId: string | null };
    return [gated.candidate, tasks.get(gated.taskId ?? "") ?? null];
  }
  const updated = result as {
    readonly update: number;
    readonly policy: { readonly checkpoint: ArtifactRef };
  };
  return [updated.update, updated.policy.checkpoint];
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
