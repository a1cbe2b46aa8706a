/** Tries of an iteration: what a later try takes over from earlier ones, by content (docs/replay.md). */
import { sql } from "kysely";
import type { Db } from "./database.ts";
import type { RolloutRow, RolloutVerdict } from "./rollouts.ts";
import { type Executor, encodeRow } from "./rows.ts";

export interface RolloutSlot {
  /** `<group key>/<member>`. */
  readonly key: string;
  readonly groupKey: string;
  readonly member: number;
  readonly experiment: string;
  readonly contentKey: string;
}

/**
 * Accepts for a slot the rollout with the same content key that another slot of the experiment has, without its verdict; undefined where there is
 * none. A slot that is already accepted with that content key gives its row back.
 */
export async function takeOverRollout(db: Db, slot: RolloutSlot): Promise<RolloutRow | undefined> {
  return db.transaction().execute(async (tx) => {
    const source = await tx
      .selectFrom("rollouts")
      .selectAll()
      .where("content_key", "=", slot.contentKey)
      .where(sql<boolean>`starts_with(key, ${`${slot.experiment}/`})`)
      // The slot's own row first, then the one that was made, not taken over.
      .orderBy(sql`key = ${slot.key}`, "desc")
      .orderBy(sql`reused_from is null`, "desc")
      .orderBy("key")
      .limit(1)
      .executeTakeFirst();
    if (source === undefined || source.key === slot.key) return source;
    const { created_at: _, ...made } = source;
    await tx
      .insertInto("rollouts")
      .values(
        encodeRow({
          ...made,
          key: slot.key,
          group_key: slot.groupKey,
          member: slot.member,
          outcome: null,
          rule: null,
          raw_reward: null,
          reward: null,
          verdict_key: null,
          verdict_from: null,
          evidence: null,
          verdict_log: null,
          reused_from: source.reused_from ?? source.key,
        }) as never,
      )
      .onConflict((conflict) => conflict.column("key").doNothing())
      .execute();
    const accepted = await tx
      .selectFrom("rollouts")
      .selectAll()
      .where("key", "=", slot.key)
      .executeTakeFirstOrThrow();
    return accepted.content_key === slot.contentKey ? accepted : undefined;
  });
}

export interface GradedRollout extends Omit<RolloutVerdict, "reward"> {
  /** Key of the rollout that was graded. */
  readonly key: string;
}

/** What grading found for another slot of the experiment with the same rollout under the same verdict key. */
export async function findVerdict(
  db: Executor,
  of: {
    readonly key: string;
    readonly experiment: string;
    readonly contentKey: string;
    readonly verdictKey: string;
  },
): Promise<GradedRollout | undefined> {
  const row = await db
    .selectFrom("rollouts")
    .select(["key", "outcome", "rule", "raw_reward", "verdict_from", "evidence", "verdict_log"])
    .where("content_key", "=", of.contentKey)
    .where("verdict_key", "=", of.verdictKey)
    .where("key", "!=", of.key)
    .where(sql<boolean>`starts_with(key, ${`${of.experiment}/`})`)
    .where("raw_reward", "is not", null)
    .orderBy("key")
    .limit(1)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  return {
    key: row.verdict_from ?? row.key,
    outcome: row.outcome as GradedRollout["outcome"],
    rule: row.rule as GradedRollout["rule"],
    rawReward: row.raw_reward,
    evidence: row.evidence,
    log: row.verdict_log,
  };
}
