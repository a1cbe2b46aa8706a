/** Rollouts and the groups they form. Acceptance itself is `sealRollout` of `ledger.ts`. */
import type { Selectable } from "kysely";
import type { ArtifactRef } from "../../core/artifact.ts";
import type { Evidence, Outcome, VerdictRule } from "../../core/task.ts";
import { StoreError } from "./errors.ts";
import { type Executor, type Row, upsert } from "./rows.ts";
import type { Database } from "./schema.ts";

export type RolloutRow = Selectable<Database["rollouts"]>;
export type GroupRow = Selectable<Database["groups"]>;

export async function findRollout(db: Executor, key: string): Promise<RolloutRow | undefined> {
  return db.selectFrom("rollouts").selectAll().where("key", "=", key).executeTakeFirst();
}

/** A group's accepted rollouts, by member. */
export async function listRollouts(db: Executor, groupKey: string): Promise<RolloutRow[]> {
  return db.selectFrom("rollouts").selectAll().where("group_key", "=", groupKey).orderBy("member").execute();
}

export interface RolloutVerdict {
  readonly outcome: Outcome;
  readonly rule: VerdictRule;
  /** Null where the outcome is `infrastructure`: that is no sample. */
  readonly rawReward: number | null;
  readonly reward: number | null;
  /** Hash of everything the outcome depends on. */
  readonly verdictKey?: string;
  /** Key of the rollout whose verdict it is, where it was taken over. */
  readonly from?: string;
  readonly evidence?: Evidence | null;
  /** Statuses, log and durations of the grading. */
  readonly log?: ArtifactRef | null;
}

/** Writes what grading found; again is the same row. Throws StoreError `missing` when the rollout was never accepted. */
export async function setVerdict(db: Executor, key: string, verdict: RolloutVerdict): Promise<void> {
  const updated = await db
    .updateTable("rollouts")
    .set({
      outcome: verdict.outcome,
      rule: verdict.rule,
      raw_reward: verdict.rawReward,
      reward: verdict.reward,
      verdict_key: verdict.verdictKey ?? null,
      verdict_from: verdict.from ?? null,
      evidence: verdict.evidence == null ? null : JSON.stringify(verdict.evidence),
      verdict_log: verdict.log == null ? null : JSON.stringify(verdict.log),
    })
    .where("key", "=", key)
    .executeTakeFirst();
  if (updated.numUpdatedRows === 0n) throw new StoreError("missing", `no rollout ${key} is recorded`);
}

export async function recordGroup(db: Executor, group: Row<"groups">): Promise<void> {
  await upsert(db, "groups", group, ["key"]);
}

export async function findGroup(db: Executor, key: string): Promise<GroupRow | undefined> {
  return db.selectFrom("groups").selectAll().where("key", "=", key).executeTakeFirst();
}
