/** Experiments and their iterations. */
import type { Selectable } from "kysely";
import { sql } from "kysely";
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { PolicyRef } from "../../core/policy.ts";
import { differingPaths, hashJson } from "./canonical.ts";
import type { Db } from "./database.ts";
import { StoreError } from "./errors.ts";
import { type Executor, encodeRow, type Row, upsert } from "./rows.ts";
import type { Database } from "./schema.ts";
import { endTimeline, startPhase } from "./timeline.ts";

export type ExperimentRow = Selectable<Database["experiments"]>;
export type IterationRow = Selectable<Database["iterations"]>;
export type ExperimentStatus = "running" | "done" | "failed" | "stopped";

export interface NewExperiment {
  readonly name: string;
  readonly settings: ExperimentSettings;
  readonly codeVersion: string;
}

/**
 * Records a new experiment, or joins the one of that name when its settings are the same (`joined`).
 * Throws StoreError `conflict` naming the fields that differ.
 */
export async function createExperiment(
  db: Executor,
  experiment: NewExperiment,
): Promise<{ readonly joined: boolean; readonly experiment: ExperimentRow }> {
  const { name, settings, codeVersion } = experiment;
  const hash = hashJson(settings);
  const created = await db
    .insertInto("experiments")
    .values({
      name,
      seed: settings.seed,
      settings: JSON.stringify(settings),
      settings_hash: hash,
      status: "running",
      code_version: codeVersion,
      result: null,
    })
    .onConflict((conflict) => conflict.column("name").doNothing())
    .returningAll()
    .executeTakeFirst();
  if (created) return { joined: false, experiment: created };
  const existing = await getExperiment(db, name);
  if (existing.settings_hash === hash) return { joined: true, experiment: existing };
  const fields = differingPaths(existing.settings, settings).map((path) => path.join("."));
  throw new StoreError(
    "conflict",
    `experiment "${name}" already exists with other settings: ${fields.join(", ")} (choose another --name, or run it with its own settings)`,
  );
}

/** Throws StoreError `missing`. */
export async function getExperiment(db: Executor, name: string): Promise<ExperimentRow> {
  const row = await db.selectFrom("experiments").selectAll().where("name", "=", name).executeTakeFirst();
  if (!row) throw new StoreError("missing", `no experiment "${name}" is recorded (tadpole list shows all)`);
  return row;
}

/** What an experiment has come to so far; each call replaces what it names and keeps the rest. */
export interface ExperimentResult {
  readonly policy?: PolicyRef;
  readonly error?: string;
}

/**
 * Sets the status, with what is known besides. `phase` is also written to the timeline, once: a repeated call does not move its start.
 * Throws StoreError `missing`.
 */
export async function setStatus(
  db: Db,
  name: string,
  status: ExperimentStatus,
  known: ExperimentResult & { readonly phase?: string } = {},
): Promise<void> {
  const { phase, ...result } = known;
  await db.transaction().execute(async (tx) => {
    const before = (await getExperiment(tx, name)).result as ExperimentResult | null;
    // An error belongs to the status it came with.
    const { error: _, ...kept } = before ?? {};
    const merged = { ...kept, ...result };
    await tx
      .updateTable("experiments")
      .set({
        ...encodeRow({ status, result: Object.keys(merged).length > 0 ? merged : null }),
        updated_at: sql`now()`,
      } as never)
      .where("name", "=", name)
      .execute();
    if (phase !== undefined) await startPhase(tx, { experiment: name, iteration: 0, try: 1, phase });
    if (status !== "running") await endTimeline(tx, name, status);
  });
}

/** Statuses of an iteration are its phases; the start of each is on the timeline. */
export async function recordIteration(db: Db, iteration: Row<"iterations">): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await upsert(tx, "iterations", iteration, ["experiment", "iteration", "try"]);
    await startPhase(tx, {
      experiment: iteration.experiment,
      iteration: iteration.iteration,
      try: iteration.try,
      // What follows the choice of a policy is its evaluation.
      phase: iteration.status === "finished" ? "evaluate" : iteration.status,
    });
  });
}
