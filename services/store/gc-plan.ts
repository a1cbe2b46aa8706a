/** What a collection would remove from a record as it stands now; `gc.ts` carries it out. */
import { sql } from "kysely";
import { type NamedRecord, type RecordedExperiment, readNames } from "./gc-names.ts";
import { expiredExperiments, type Node, reachable, unnamed } from "./gc-select.ts";
import type { Executor } from "./rows.ts";

/** Time within which a row may follow the file it names, and a file its last reader. */
const GRACE_MS = 60 * 60 * 1000;

/** What goes on or stands beside the record, as Temporal tells. */
export interface Surroundings {
  /** Experiments that a workflow works on, whatever their rows say. */
  readonly live: readonly string[];
  /** When the oldest workflow in progress began; null = none. */
  readonly sinceMs: number | null;
  /** Experiments that something else names, with what it is, for people. */
  readonly pinned: ReadonlyMap<string, string>;
}

export interface Retention {
  /** Days that answered requests and late results are kept. */
  readonly keepDays: number;
  /** Age from which whole experiments go; null = they all stay. */
  readonly experimentsOlderThanMs: number | null;
}

export interface Plan {
  readonly expired: readonly RecordedExperiment[];
  /** Old enough, and kept: with the reason. */
  readonly needed: readonly { readonly name: string; readonly because: string }[];
  readonly live: readonly string[];
  /** Policies, tasks and sets that go. */
  readonly shared: readonly Node[];
  /** Everything that is kept and what it names. */
  readonly named: ReadonlySet<Node>;
  /** Files put since then may be named soon. */
  readonly filesBeforeMs: number;
  readonly record: NamedRecord;
}

/**
 * References that are in the history of a workflow alone reach back to its start, so files that were put since are left; and while anything
 * goes on, so is everything that experiments share.
 */
export async function planCollection(
  tx: Executor,
  { keepDays, experimentsOlderThanMs }: Retention,
  { live: worked, sinceMs, pinned }: Surroundings,
): Promise<Plan> {
  const record = await readNames(tx, keepDays);
  const isLive = ({ name, status, held }: RecordedExperiment) =>
    status === "running" || held || worked.includes(name);
  const going = record.experiments.filter(isLive);
  const beforeMs =
    experimentsOlderThanMs === null ? Number.NEGATIVE_INFINITY : record.nowMs - experimentsOlderThanMs;
  const names = expiredExperiments(
    record.experiments.map((experiment) => ({
      name: experiment.name,
      endedMs: isLive(experiment) ? null : experiment.changedMs,
    })),
    record.edges,
    { beforeMs, pinned: new Set(pinned.keys()) },
  );
  const expired = record.experiments.filter(({ name }) => names.includes(name));
  const kept = record.experiments.filter(({ name }) => !names.includes(name));
  const sharedBeforeMs = going.length > 0 || sinceMs !== null ? Number.NEGATIVE_INFINITY : beforeMs;
  const roots: Node[] = [
    ...kept.map(({ name }): Node => `experiment/${name}`),
    ...record.strays,
    // What a user brought in stays until the user takes it out.
    ...[...record.edges.keys()].filter((owner) => owner.startsWith("import/")),
    ...[...record.shared].filter(([, at]) => at >= sharedBeforeMs).map(([node]) => node),
  ];
  const named = reachable(record.edges, roots);
  const since = [Date.now(), sinceMs ?? Number.POSITIVE_INFINITY, ...going.map(({ createdMs }) => createdMs)];
  return {
    expired,
    needed: kept
      .filter((experiment) => !isLive(experiment) && experiment.changedMs < beforeMs)
      .map(({ name }) => ({ name, because: pinned.get(name) ?? namers(record, name) })),
    live: going.map(({ name }) => name),
    shared: unnamed(record.shared, named, sharedBeforeMs),
    named,
    filesBeforeMs: Math.min(...since) - GRACE_MS,
    record,
  };
}

function namers({ edges }: NamedRecord, name: string): string {
  const found = [...edges]
    .filter(([owner, named]) => owner !== `experiment/${name}` && named.has(`experiment/${name}`))
    .map(([owner]) => owner.slice("experiment/".length));
  return `a policy of it is used by ${found.sort().join(", ")}`;
}

/** Until the transaction ends no experiment begins, ends, or is begun again. */
export async function holdStarts(tx: Executor): Promise<void> {
  await sql`lock table experiments in share row exclusive mode`.execute(tx);
}
