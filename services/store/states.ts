/** How many experiments are in which state, for whoever watches the stack as a whole. */
import { sql } from "kysely";
import type { Executor } from "./rows.ts";

export const EXPERIMENT_STATES = ["running", "held", "done", "failed", "stopped"] as const;
export type ExperimentState = (typeof EXPERIMENT_STATES)[number];

/** `held`: running, and everything waits. States of no experiment count 0. */
export async function countExperimentStates(
  db: Executor,
): Promise<Readonly<Record<ExperimentState, number>>> {
  const rows = await db
    .selectFrom("experiments")
    .select(
      sql<string>`case when status = 'running' and hold is not null then 'held' else status end`.as("state"),
    )
    .select(({ fn }) => fn.countAll<string>().as("count"))
    .groupBy("state")
    .execute();
  const counts = new Map(rows.map(({ state, count }) => [state, Number(count)]));
  return Object.fromEntries(EXPERIMENT_STATES.map((state) => [state, counts.get(state) ?? 0])) as Record<
    ExperimentState,
    number
  >;
}
