/** Retention and garbage collection: what the record, Temporal and the data folder say together about what may go (docs/gc.md). */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@temporalio/client";
import { formatDuration, parseDuration } from "../../core/duration.ts";
import { experimentOf } from "../../core/ids.ts";
import { collectGarbage, GcError, type GcProgress, type GcReport } from "../../services/store/gc.ts";
import { type Db, openInventory } from "../../services/store/index.ts";
import type { ScheduledRunInput, scheduledRun } from "../../workflows/scheduledRun.ts";

export interface GcRequest {
  readonly dryRun: boolean;
  /** Days, a whole number from 1 on. */
  readonly keepDays: number;
  /** As `core/duration.ts` reads it; without it every experiment stays. */
  readonly experimentsOlderThan?: string;
  /** Also artifacts that are in no row of this database. */
  readonly unrecorded?: boolean;
  readonly onProgress?: (progress: GcProgress) => void;
}

const LEAST_AGE_MS = 60 * 60 * 1000;
const SCHEDULED = "scheduledRun" satisfies (typeof scheduledRun)["name"];

/** Throws GcError `input`, naming the field, or `busy`; nothing is removed then. */
export async function collect(
  session: { readonly db: Db; readonly client: Client; readonly stack: { readonly dataFolder: string } },
  { dryRun, keepDays, experimentsOlderThan, unrecorded = false, onProgress }: GcRequest,
): Promise<GcReport> {
  const { db, client } = session;
  const { dataFolder } = session.stack;
  if (!Number.isInteger(keepDays) || keepDays < 1 || keepDays > 36_500)
    throw invalid("keep-days", keepDays, "a whole number of days from 1 on");
  const pinned = await scheduled(client);
  const found = await collectGarbage(db, openInventory(dataFolder), {
    dryRun,
    keepDays,
    experimentsOlderThanMs: experimentsOlderThan === undefined ? null : age(experimentsOlderThan),
    unrecorded,
    surroundings: async () => ({ ...(await inProgress(client)), pinned }),
    ...(onProgress ? { onProgress } : {}),
  });
  const unknown = [
    ...(await unknownInDataFolder(dataFolder)),
    ...found.unknown.map((path) => join("artifacts", path)),
  ];
  return { ...found, unknown };
}

function age(text: string): number {
  const value = parseDuration(text);
  if (value !== null && value >= LEAST_AGE_MS) return value;
  throw invalid(
    "experiments-older-than",
    text,
    `a duration of at least ${formatDuration(LEAST_AGE_MS)}, as in 90d or 36h`,
  );
}

function invalid(field: string, found: unknown, expected: string): GcError {
  return new GcError("input", `${field} ${JSON.stringify(found)}: expected ${expected}`);
}

/** What Temporal works on, whatever the record says of it. */
async function inProgress(
  client: Client,
): Promise<{ readonly live: readonly string[]; readonly sinceMs: number | null }> {
  const live = new Set<string>();
  let sinceMs: number | null = null;
  for await (const { workflowId, startTime } of client.workflow.list({
    query: 'ExecutionStatus = "Running"',
  })) {
    const name = experimentOf(workflowId);
    if (name !== null) live.add(name);
    sinceMs = Math.min(sinceMs ?? Number.POSITIVE_INFINITY, startTime.getTime());
  }
  return { live: [...live], sinceMs };
}

/** Experiments that schedules measure. */
async function scheduled(client: Client): Promise<Map<string, string>> {
  const named = new Map<string, string>();
  for await (const { scheduleId, action } of client.schedule.list()) {
    if (action?.workflowType !== SCHEDULED) continue;
    const found = await client.schedule.getHandle(scheduleId).describe();
    const [input] = (found.action.args ?? []) as readonly [ScheduledRunInput?];
    if (input?.work.kind === "evaluate")
      named.set(input.work.experiment, `schedule ${scheduleId} measures it`);
  }
  return named;
}

/** What Tadpole keeps in a data folder: files of these names, and what begins so. */
const PARTS = [
  ".probe-",
  // And `artifact-cache`.
  "artifact",
  "checkpoints",
  "docker",
  "down",
  "environments",
  "logs",
  "policy-",
  "postgres",
  "sandboxes",
  "stack.json",
  "temporal.db",
  "version.json",
  "workflow-bundles",
];

async function unknownInDataFolder(folder: string): Promise<string[]> {
  const names = await readdir(folder);
  return names.filter((name) => !PARTS.some((part) => name.startsWith(part))).sort();
}
