/** When an experiment was in which phase, by the database's clock. For people: nothing decides by it. */
import { sql } from "kysely";
import { type Executor, encodeRow } from "./rows.ts";

export interface PhaseStart {
  readonly experiment: string;
  /** 0 = before the first iteration. */
  readonly iteration: number;
  readonly try: number;
  readonly phase: string;
}

export interface PhaseTime {
  readonly iteration: number;
  readonly phase: string;
  readonly seconds: number;
}

const KIND = "phase";
const END = "end";

/** Writes the start of a phase, once: an activity that is tried again does not move it. */
export async function startPhase(db: Executor, start: PhaseStart): Promise<void> {
  const { experiment, iteration, phase } = start;
  await db
    .insertInto("events")
    .values(
      encodeRow({
        key: `${experiment}/it/${iteration}/try/${start.try}/phase/${phase}`,
        experiment,
        kind: KIND,
        detail: { iteration, try: start.try, phase },
      }) as never,
    )
    .onConflict((conflict) => conflict.column("key").doNothing())
    .execute();
}

/** Writes the end; an experiment that is resumed and ends again moves it. */
export async function endTimeline(db: Executor, experiment: string, status: string): Promise<void> {
  const detail = JSON.stringify({ status });
  await sql`
    insert into events (key, experiment, kind, detail) values (${`${experiment}/${END}`}, ${experiment}, ${END}, ${detail}::json)
    on conflict (key) do update set detail = excluded.detail, created_at = now()`.execute(db);
}

/** Phases in the order they began, each until the next began; the last until the end, or until now while the experiment runs. */
export async function readTimeline(db: Executor, experiment: string, running: boolean): Promise<PhaseTime[]> {
  const { rows } = await sql<{ kind: string; detail: PhaseStart; at: number; now: number }>`
    select kind, detail, extract(epoch from created_at)::double precision as at,
      extract(epoch from now())::double precision as now
    from events where experiment = ${experiment} and kind in (${KIND}, ${END}) order by created_at, key`.execute(
    db,
  );
  const phases = rows.filter((row) => row.kind === KIND);
  const last = rows.find((row) => row.kind === END && !running)?.at ?? rows[0]?.now ?? 0;
  return phases.map((row, i) => ({
    iteration: row.detail.iteration,
    phase: row.detail.phase,
    // An end may be older than the last phase when a resumed run ended without being recorded.
    seconds: Math.max(0, (phases[i + 1]?.at ?? last) - row.at),
  }));
}
