/** What happened in an experiment, for people. */
import type { Selectable } from "kysely";
import { type Executor, type Row, upsert } from "./rows.ts";
import type { Database } from "./schema.ts";

export type EventRow = Selectable<Database["events"]>;

export async function recordEvent(db: Executor, event: Row<"events">): Promise<void> {
  await upsert(db, "events", event, ["key"]);
}

/** An experiment's events, oldest first. */
export async function listEvents(db: Executor, experiment: string): Promise<EventRow[]> {
  return db
    .selectFrom("events")
    .selectAll()
    .where("experiment", "=", experiment)
    .orderBy("created_at")
    .orderBy("key")
    .execute();
}
