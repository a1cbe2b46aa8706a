/** Experiments and their iterations. */
import type { Selectable } from "kysely";
import { sql } from "kysely";
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { PolicyRef } from "../../core/policy.ts";
import type { ExperimentStatus } from "../../core/statuses.ts";
import { hashJson } from "../hashing/index.ts";
import { differingPaths } from "./canonical.ts";
import { StoreError } from "./errors.ts";
import { type Executor, encodeRow, type Row, upsert } from "./rows.ts";
import type { Database } from "./schema.ts";

export type ExperimentRow = Selectable<Database["experiments"]>;
export type IterationRow = Selectable<Database["iterations"]>;

/** What an experiment came to. */
export interface ExperimentResult {
  readonly policy?: PolicyRef;
  readonly error?: string;
}

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

export async function setStatus(db: Executor, name: string, status: ExperimentStatus): Promise<void> {
  await change(db, name, { status });
}

/** Status and result are written together, so that neither is seen without the other. */
export async function setResult(
  db: Executor,
  name: string,
  status: ExperimentStatus,
  result: ExperimentResult,
): Promise<void> {
  await change(db, name, { status, result });
}

/** Throws StoreError `missing`. */
async function change(db: Executor, name: string, columns: object): Promise<void> {
  const updated = await db
    .updateTable("experiments")
    .set({ ...encodeRow(columns), updated_at: sql`now()` } as never)
    .where("name", "=", name)
    .executeTakeFirst();
  if (updated.numUpdatedRows === 0n) throw new StoreError("missing", `no experiment "${name}" is recorded`);
}

export async function recordIteration(db: Executor, iteration: Row<"iterations">): Promise<void> {
  await upsert(db, "iterations", iteration, ["experiment", "iteration", "try"]);
}
