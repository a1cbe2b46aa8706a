/** What happened in an experiment, for people. */
import { type Executor, type Row, upsert } from "./rows.ts";

export async function recordEvent(db: Executor, event: Row<"events">): Promise<void> {
  await upsert(db, "events", event, ["key"]);
}
