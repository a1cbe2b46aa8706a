/**
 * When an experiment was in which phase, by the database's clock. For people: nothing decides by it. A phase is an event of kind `phase`
 * with detail {iteration, phase}; recording it again does not move its start.
 */
import { sql } from "kysely";
import type { Executor } from "./rows.ts";

export interface PhaseTime {
  /** 0 = before the first iteration. */
  readonly iteration: number;
  readonly phase: string;
  readonly seconds: number;
}

/** Statuses an experiment ends in; as phases they take no time. */
export const ENDS: ReadonlySet<string> = new Set(["done", "failed", "stopped"]);

/** What an iteration does once its policy is chosen. */
const AFTER_FINISH = "evaluate";

/** Phases in the order they began, each until the next began; the last until the end, or until now while the experiment runs. */
export async function readTimeline(db: Executor, experiment: string, running: boolean): Promise<PhaseTime[]> {
  const { rows } = await sql<{ detail: { iteration: number; phase: string }; at: number; now: number }>`
    select detail, extract(epoch from created_at)::double precision as at,
      extract(epoch from now())::double precision as now
    from events where experiment = ${experiment} and kind = 'phase' order by created_at, key`.execute(db);
  const end = running ? undefined : rows.findLast((row) => ENDS.has(row.detail.phase));
  const last = end?.at ?? rows[0]?.now ?? 0;
  return rows.flatMap(({ detail, at }, i) => {
    // An end lasts until the experiment is taken up again: that is nobody's time.
    if (ENDS.has(detail.phase)) return [];
    const phase = detail.phase === "finished" ? AFTER_FINISH : detail.phase;
    // A resumed run may have gone past an end that an earlier run recorded.
    return [{ iteration: detail.iteration, phase, seconds: Math.max(0, (rows[i + 1]?.at ?? last) - at) }];
  });
}
