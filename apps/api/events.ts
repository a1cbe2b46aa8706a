/** Progress of one experiment as server-sent events: what happened, each with an id to go on from, and snapshots between. */
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { eventId, eventsAfter, experimentProgress, type Session } from "../control/index.ts";

const POLL_MS = 1000;
/** Proxies close what is silent. */
const HEARTBEAT_POLLS = 15;

const frame = (event: string, data: unknown, id?: string): string =>
  `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

/**
 * Writes until the experiment has ended and everything is told, or `signal` aborts: a client then comes again with the last id. Snapshots
 * have no id, since the next one replaces them.
 */
export async function writeEvents(
  session: Pick<Session, "db">,
  name: string,
  from: string | null,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  let last = from;
  let shown = "";
  for (let poll = 0; !signal.aborted; poll++) {
    const found = await experimentProgress(session, name);
    for (;;) {
      const events = await eventsAfter(session, name, last);
      for (const event of events) {
        last = eventId(name, event);
        const { kind, detail, created_at } = event;
        response.write(frame(kind, { ...(detail as object), at: created_at.toISOString() }, last));
      }
      if (events.length === 0) break;
    }
    if (found === null) return;
    const { progress, hold } = found;
    const { elapsedSeconds: _, phaseSeconds: __, ...facts } = progress;
    const text = JSON.stringify({ ...facts, hold });
    if (text !== shown) response.write(frame("progress", { ...progress, hold }));
    else if (poll % HEARTBEAT_POLLS === 0) response.write(": still there\n\n");
    shown = text;
    if (progress.status !== "running") {
      response.write(frame("end", { status: progress.status }));
      return;
    }
    await sleep(POLL_MS, undefined, { signal }).catch(() => {});
  }
}
