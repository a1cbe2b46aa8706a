/**
 * Garbage collection: rows first, each step a transaction, then the files that no row names any more. It can be killed at any point: the next one
 * finishes. Safe beside running experiments (docs/gc.md says why).
 */
import { sql } from "kysely";
import type { ArtifactInventory } from "./artifact-folder.ts";
import type { Db } from "./database.ts";
import { amount, chooseFrom, type FileOptions, type FolderPlan, removeFiles } from "./gc-files.ts";
import { holdStarts, type Plan, planCollection } from "./gc-plan.ts";
import {
  type Amount,
  forgetLateResults,
  inSnapshot,
  measureExperiments,
  measureLateResults,
  measureRequests,
  measureShared,
  measureTurns,
  patiently,
  removeExperiment,
  removeRequests,
  removeShared,
  removeTurns,
  type SharedKind,
  sum,
} from "./gc-rows.ts";
import type { Node } from "./gc-select.ts";
import type { Executor } from "./rows.ts";

export type { GcProgress } from "./gc-files.ts";

/** `busy`: another collection works on this record; `input`: an option is not what it should be. */
export type GcErrorKind = "busy" | "input";

export class GcError extends Error {
  readonly kind: GcErrorKind;
  constructor(kind: GcErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "GcError";
    this.kind = kind;
  }
}

export interface GcOptions extends FileOptions {
  /** Removes nothing. */
  readonly dryRun: boolean;
}

/** In the order in which they go. */
const GARBAGE = [
  "turns",
  "late results",
  "requests",
  "experiments",
  "tasks",
  "task sets",
  "policies",
  "artifacts",
] as const;
export type Garbage = (typeof GARBAGE)[number];

export interface GcReport {
  readonly dryRun: boolean;
  /** Removed, or what would be. Of experiments the items are rows. */
  readonly removed: Readonly<Record<Garbage, Amount>>;
  readonly experiments: readonly ({
    readonly name: string;
    readonly status: string;
    readonly changedAt: string;
  } & Amount)[];
  readonly needed: Plan["needed"];
  readonly live: readonly string[];
  /** Files that nothing names yet, put too short a while ago. */
  readonly waiting: Amount;
  /** Files in no row of this record. */
  readonly unrecorded: Amount;
  readonly missing: FolderPlan["missing"];
  /** Paths in the artifact folder that are no artifacts, and experiments that have rows but are on record nowhere. */
  readonly unknown: readonly string[];
  readonly strays: readonly string[];
}

const KINDS: readonly (readonly [garbage: Garbage, kind: SharedKind])[] = [
  ["tasks", "task"],
  ["task sets", "set"],
  ["policies", "policy"],
];
/** Any constant, the same in every version. */
const LOCK = 7_238_652;

/** Throws GcError `busy`, StoreError, ArtifactError `unreachable`, or what the file system throws. */
export async function collectGarbage(
  db: Db,
  inventory: ArtifactInventory,
  options: GcOptions,
): Promise<GcReport> {
  return db.connection().execute(async (connection) => {
    const { rows } = await sql<{ locked: boolean }>`
      select pg_try_advisory_lock(${LOCK}::bigint) as locked`.execute(connection);
    if (!rows[0]!.locked)
      throw new GcError("busy", "another tadpole gc works on this record: wait for its end");
    try {
      return await (options.dryRun
        ? look(connection, inventory, options)
        : collect(connection, inventory, options));
    } finally {
      await sql`select pg_advisory_unlock(${LOCK}::bigint)`.execute(connection);
    }
  });
}

async function look(db: Executor, inventory: ArtifactInventory, options: GcOptions): Promise<GcReport> {
  const { keepDays } = options;
  const around = await options.surroundings();
  return inSnapshot(db, async (tx) => {
    const plan = await planCollection(tx, options, around);
    const shared = await measureAllShared(tx, plan.shared);
    const sizes = await measureExperiments(
      tx,
      plan.expired.map(({ name }) => name),
    );
    const files = await chooseFrom(tx, inventory, plan, options, around);
    return report(options, plan, sizes, files, {
      turns: await measureTurns(tx, plan.live),
      "late results": await measureLateResults(tx, keepDays),
      requests: await measureRequests(tx, keepDays),
      ...shared,
      artifacts: amount([...files.remove, ...files.removing]),
    });
  });
}

async function collect(db: Executor, inventory: ArtifactInventory, options: GcOptions): Promise<GcReport> {
  const { keepDays, onProgress = () => {}, surroundings } = options;
  const step = async (measured: (tx: Executor) => Promise<Amount>, remove: (tx: Executor) => Promise<void>) =>
    db.transaction().execute(async (tx) => {
      await patiently(tx);
      const found = await measured(tx);
      if (found.items > 0) await remove(tx);
      return found;
    });
  const { live } = await inSnapshot(db, async (tx) => planCollection(tx, options, await surroundings()));
  onProgress({ phase: "rows", done: 0, total: 3 });
  const rows = {
    turns: await step(
      (tx) => measureTurns(tx, live),
      (tx) => removeTurns(tx, live),
    ),
    "late results": await step(
      (tx) => measureLateResults(tx, keepDays),
      (tx) => forgetLateResults(tx, keepDays),
    ),
    requests: await step(
      (tx) => measureRequests(tx, keepDays),
      (tx) => removeRequests(tx, keepDays),
    ),
  };
  const { plan, sizes } = await removeExpired(db, options);
  const shared = await db.transaction().execute(async (tx) => {
    await patiently(tx);
    await holdStarts(tx);
    const { shared: nodes } = await planCollection(tx, options, await surroundings());
    const measured = await measureAllShared(tx, nodes);
    for (const [, kind] of KINDS) await removeShared(tx, kind, ofKind(nodes, kind));
    return measured;
  });
  const { removed, files } = await removeFiles(db, inventory, options);
  return report(options, plan, sizes, files, { ...rows, ...shared, artifacts: removed });
}

/** Each in a transaction that decides once more. The plan is the first one, less what was kept after all. */
async function removeExpired(
  db: Executor,
  { onProgress = () => {}, surroundings, ...options }: GcOptions,
): Promise<{ readonly plan: Plan; readonly sizes: ReadonlyMap<string, Amount> }> {
  const first = await inSnapshot(db, async (tx) => planCollection(tx, options, await surroundings()));
  const sizes = new Map<string, Amount>();
  for (const [done, { name }] of first.expired.entries()) {
    onProgress({ phase: "experiments", done, total: first.expired.length });
    await db.transaction().execute(async (tx) => {
      await patiently(tx);
      await holdStarts(tx);
      const { expired } = await planCollection(tx, options, await surroundings());
      if (!expired.some((experiment) => experiment.name === name)) return;
      for (const [found, size] of await measureExperiments(tx, [name])) sizes.set(found, size);
      await removeExperiment(tx, name);
    });
  }
  return { plan: { ...first, expired: first.expired.filter(({ name }) => sizes.has(name)) }, sizes };
}

function ofKind(nodes: readonly Node[], kind: SharedKind): Node[] {
  return nodes.filter((node) => node.startsWith(`${kind}/`));
}

async function measureAllShared(
  tx: Executor,
  nodes: readonly Node[],
): Promise<Record<"tasks" | "task sets" | "policies", Amount>> {
  const found: Partial<Record<Garbage, Amount>> = {};
  for (const [garbage, kind] of KINDS) found[garbage] = await measureShared(tx, kind, ofKind(nodes, kind));
  return found as Record<"tasks" | "task sets" | "policies", Amount>;
}

function report(
  { dryRun }: GcOptions,
  plan: Plan,
  sizes: ReadonlyMap<string, Amount>,
  files: FolderPlan,
  removed: Omit<GcReport["removed"], "experiments">,
): GcReport {
  return {
    dryRun,
    removed: { ...removed, experiments: sum(sizes.values()) },
    experiments: plan.expired.map(({ name, status, changedMs }) => ({
      name,
      status,
      changedAt: new Date(changedMs).toISOString(),
      ...sizes.get(name)!,
    })),
    needed: plan.needed,
    live: plan.live,
    waiting: amount(files.wait),
    unrecorded: amount(files.unrecorded),
    missing: files.missing,
    unknown: files.unknown,
    strays: plan.record.strays.map((node) => node.slice("experiment/".length)),
  };
}
