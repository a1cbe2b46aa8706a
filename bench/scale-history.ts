/** How large the histories of a server's workflows are, and the payloads in them. */
import type { Client } from "@temporalio/client";

/** A number and the workflow it is of. */
export interface Largest {
  readonly size: number;
  readonly workflow: string;
}

export interface HistorySizes {
  readonly executions: number;
  /** Events of the longest. */
  readonly events: Largest;
  /** Bytes of the one that has most. */
  readonly bytes: Largest;
  /** Bytes of the largest payload. */
  readonly payload: Largest;
}

/** Payloads of these are looked at in the longest execution only: there are many, all alike. */
const MANY = ["calibrateTask", "collectGroup"];

/** Of all executions that match `query`; visibility must have caught up with the last of them. */
export async function historySizes(client: Client, query: string): Promise<HistorySizes> {
  const none: Largest = { size: -1, workflow: "" };
  const found = { executions: 0, events: none, bytes: none, payload: none };
  const longest = new Map<string, { readonly id: string; readonly run: string; readonly events: number }>();
  for await (const { workflowId, runId, type, historyLength, historySize } of client.workflow.list({
    query,
  })) {
    found.executions++;
    found.events = larger(found.events, historyLength, workflowId);
    found.bytes = larger(found.bytes, historySize ?? 0, workflowId);
    const key = MANY.includes(type) ? type : `${workflowId} ${runId}`;
    if (historyLength > (longest.get(key)?.events ?? 0))
      longest.set(key, { id: workflowId, run: runId, events: historyLength });
  }
  for (const { id, run } of longest.values()) {
    const { events } = await client.workflow.getHandle(id, run).fetchHistory();
    for (const event of events ?? []) found.payload = larger(found.payload, largestPayload(event), id);
  }
  return found;
}

function larger(largest: Largest, size: number, workflow: string): Largest {
  return size > largest.size ? { size, workflow } : largest;
}

/** Bytes of the largest payload anywhere in a decoded event; 0 where there is none. */
export function largestPayload(value: unknown): number {
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return 0;
  const own = (value as { readonly data?: unknown }).data;
  return Math.max(
    own instanceof Uint8Array ? own.byteLength : 0,
    ...Object.values(value).map((child) => largestPayload(child)),
  );
}
