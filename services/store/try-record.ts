/** What one try came to, by names that do not name the try: what two tries are compared by. */
import { sql } from "kysely";
import type { ArtifactRef } from "../../core/artifact.ts";
import { type Scope, scopeKey } from "../../core/scope.ts";
import type { Executor } from "./rows.ts";

type Entries = ReadonlyMap<string, string>;

export interface TryRecord {
  /** By index: the key of the candidate, or why there is none. */
  readonly candidates: Entries;
  /** By candidate: the gate that rejected it, or `valid` and the task. */
  readonly validations: Entries;
  /** By candidate and refinement: level, passes and decision. */
  readonly probes: Entries;
  /** By name within the try: task, level, policy, passes. */
  readonly groups: Entries;
  /** By name within the try: content, trajectory, outcome and reward. */
  readonly rollouts: Entries;
  readonly trajectories: ReadonlyMap<string, ArtifactRef>;
  readonly batches: Entries;
  readonly updates: Entries;
}

/** Candidates beyond the last one whose result was read are left out: how far they came is chance. */
export async function readTry(db: Executor, scope: Scope): Promise<TryRecord> {
  const { experiment, iteration, try: attempt } = scope;
  const key = scopeKey(scope);
  const within = (name: string): string => name.slice(key.length + 1);
  const row = await db
    .selectFrom("iterations")
    .select("last_candidate")
    .where("experiment", "=", experiment)
    .where("iteration", "=", iteration)
    .where("try", "=", attempt)
    .executeTakeFirst();
  const last = row?.last_candidate ?? Number.MAX_SAFE_INTEGER;
  const read = (name: string): boolean => !name.startsWith("task/") || Number(name.split("/")[1]) <= last;

  const drawn = await db
    .selectFrom("pieces")
    .select("result")
    .where("experiment", "=", experiment)
    .where("iteration", "=", iteration)
    .where("try", "=", attempt)
    .where("kind", "=", "candidate")
    .execute();
  const candidates = drawn
    .map(({ result }) => result as { index: number; candidate?: { key: string }; none?: string })
    .filter(({ index }) => index <= last)
    .sort((a, b) => a.index - b.index)
    .map(({ index, candidate, none }) => [String(index), candidate?.key ?? none ?? ""] as const);
  const validations = await db
    .selectFrom("validations")
    .select(["candidate", "outcome", "task_id"])
    .where("scope", "=", key)
    .where("candidate", "<=", last)
    .orderBy("candidate")
    .execute();
  const probes = await db
    .selectFrom("probes")
    .select(["candidate", "refinement", "level", "passes", "runs", "decision"])
    .where("scope", "=", key)
    .where("candidate", "<=", last)
    .orderBy("candidate")
    .orderBy("refinement")
    .execute();
  const groups = await db
    .selectFrom("groups")
    .selectAll()
    .where("experiment", "=", experiment)
    .where("iteration", "=", iteration)
    .where("try", "=", attempt)
    .where("phase", "!=", "evaluate")
    .orderBy("key")
    .execute();
  const rollouts = (
    await db
      .selectFrom("rollouts")
      .select(["key", "content_key", "trajectory", "outcome", "reward"])
      .where(sql<boolean>`starts_with(key, ${`${key}/`})`)
      .orderBy("key")
      .execute()
  )
    .map((found) => ({ ...found, name: within(found.key), ref: found.trajectory as ArtifactRef }))
    .filter(({ name }) => read(name));
  const ofTry = <T extends "batches" | "updates">(table: T) =>
    db
      .selectFrom(table as "batches" | "updates")
      .selectAll()
      .where("experiment", "=", experiment)
      .where("iteration", "=", iteration)
      .where("try", "=", attempt)
      .orderBy("update");
  const batches = (await ofTry("batches").execute()) as unknown as {
    update: number;
    artifact: ArtifactRef | null;
  }[];
  const updates = (await ofTry("updates").execute()) as unknown as { update: number; policy: string }[];
  return {
    candidates: new Map(candidates),
    validations: new Map(
      validations.map((found) => [String(found.candidate), `${found.outcome} ${found.task_id ?? ""}`.trim()]),
    ),
    probes: new Map(
      probes.map((found) => [
        `${found.candidate}/${found.refinement}`,
        `level ${found.level}, ${found.passes}/${found.runs}, ${found.decision}`,
      ]),
    ),
    groups: new Map(
      groups
        .filter((found) => read(within(found.key)))
        .map((found) => [
          within(found.key),
          `${found.task_id} level ${found.level} by ${found.policy}, ${found.passes}/${found.size}`,
        ]),
    ),
    rollouts: new Map(
      rollouts.map((found) => [
        found.name,
        `${found.outcome ?? "not graded"}, reward ${found.reward}, content ${found.content_key.slice(0, 12)}, trajectory ${found.ref.sha256.slice(0, 12)}`,
      ]),
    ),
    trajectories: new Map(rollouts.map((found) => [found.name, found.ref])),
    batches: new Map(
      batches.map(({ update, artifact }) => [String(update), artifact?.sha256 ?? "every group was dropped"]),
    ),
    updates: new Map(updates.map(({ update, policy }) => [String(update), policy])),
  };
}
