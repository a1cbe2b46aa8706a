/** How far a run has come, asked of its record; a record that cannot be reached has no answer. */
import { sql } from "kysely";
import type { Db } from "../services/store/index.ts";

export interface RunState {
  readonly status: string;
  /** Why it is held or has failed. */
  readonly problem: string | null;
  /** Pieces of work on record; never fewer than before. */
  readonly pieces: number;
  /** Per iteration, from the first on, in what phase it is and how many updates it has been offered. */
  readonly iterations: readonly { readonly status: string; readonly updates: number }[];
}

export async function runState(db: Db, experiment: string): Promise<RunState | null> {
  try {
    const own = `${experiment}/`;
    const found = await sql<{
      status: string;
      problem: string | null;
      pieces: number;
      iterations: RunState["iterations"];
    }>`
      select status, coalesce(hold ->> 'reason', result ->> 'error') as problem,
        (select count(*) from rollouts where starts_with(key, ${own}))
        + (select count(*) from rollouts where starts_with(key, ${own}) and outcome is not null)
        + (select count(*) from validations) + (select count(*) from environments)
        + (select count(*) from updates where experiment = name)
        + (select count(*) from evaluations where experiment = name)
        + (select count(*) from events where experiment = name) as pieces,
        (select coalesce(json_agg(json_build_object('status', i.status, 'updates',
          (select count(*) from batches b
            where b.experiment = i.experiment and b.iteration = i.iteration and b.try = i.try)
          ) order by i.iteration), '[]')
          from iterations i where i.experiment = name and i.try = 1 and i.iteration > 0) as iterations
      from experiments where name = ${experiment}`.execute(db);
    return found.rows[0] ?? null;
  } catch {
    // Killed a moment ago, or just starting: the next look tells.
    return null;
  }
}
