/** assemble: an update's groups become one immutable batch; groups whose raw rewards are all equal are left out (docs/method.md §6). */

import { advantages, keepGroup } from "../core/advantage.ts";
import type { ArtifactRef } from "../core/artifact.ts";
import { trainedMembers } from "../core/groups.ts";
import { addTokens, type LagCounts, lagCounts, type TokensByPolicy, tokensByPolicy } from "../core/lag.ts";
import type { BatchPace } from "../core/pace-record.ts";
import { scopeKey } from "../core/scope.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { getJson, listRollouts, recordBatch } from "../services/store/index.ts";
import { BatchError, type BatchRow, batchParts } from "../services/trainers/batch.ts";
import type { RecordServices } from "./services.ts";
import type { AssembleInput, AssembleOutput } from "./types.ts";

export async function assemble(services: RecordServices, input: AssembleInput): Promise<AssembleOutput> {
  const rows: BatchRow[] = [];
  // Names within the try: the same groups of another try, or of another experiment, make the same bytes.
  const prefix = `${scopeKey(input.scope)}/`;
  const within = (key: string) => (key.startsWith(prefix) ? key.slice(prefix.length) : key);
  let kept = 0;
  let dropped = 0;
  let tokens: TokensByPolicy = {};
  for (const key of input.groups) {
    const all = await listRollouts(services.db, key);
    const trained =
      input.plan === undefined
        ? all.keys()
        : trainedMembers(
            input.plan,
            all.map((row) => row.raw_reward as 0 | 1),
          );
    const rollouts = [...trained].map((member) => all[member]!);
    const raw = rollouts.map((row) => row.raw_reward as 0 | 1);
    if (!keepGroup(raw)) {
      dropped++;
      continue;
    }
    kept++;
    if (input.pace !== undefined)
      tokens = withinBound(input, key, rollouts.map(tokensByPolicy).reduce(addTokens, tokens));
    const advantage = advantages(
      rollouts.map((row) => row.reward!),
      input.advantage,
    );
    for (const [member, row] of rollouts.entries()) {
      const trajectory = await getJson<Trajectory>(services.artifacts, row.trajectory as ArtifactRef);
      for (const segment of trajectory.segments) {
        rows.push({
          group: within(key),
          rollout: within(row.key),
          advantage: advantage[member]!,
          reward: row.reward!,
          raw: raw[member]!,
          ...segment,
        });
      }
    }
  }
  const batch = rows.length === 0 ? null : await services.artifacts.put(batchParts(rows), "batch");
  const lags = input.pace && lagCounts(tokens, input.pace.versions);
  await recordBatch(services.db, {
    experiment: input.scope.experiment,
    iteration: input.scope.iteration,
    try: input.scope.try,
    update: input.update,
    groups: [...input.groups],
    kept_groups: kept,
    dropped_groups: dropped,
    artifact: batch,
    pace: lags === undefined ? null : paceOf(input, lags),
  });
  return { batch, kept, dropped, ...(lags === undefined ? {} : { lags }) };
}

function paceOf({ pace }: AssembleInput, lags: LagCounts): BatchPace {
  const { left, waitedSeconds, idleShare } = pace!;
  return { lags, left, waitedSeconds, idleShare };
}

/** `tokens` as they are. Whatever was decided before: what is on record of the rollouts is the last word on what a batch may hold. */
function withinBound({ update, pace }: AssembleInput, key: string, tokens: TokensByPolicy): TokensByPolicy {
  const foreign = Object.keys(tokens).find((policy) => !pace!.versions.includes(policy));
  if (foreign !== undefined)
    throw new BatchError(
      "row",
      `group ${key} has tokens of ${foreign}, too old for update ${update}: expected tokens of ${pace!.versions.join(", ")}`,
    );
  return tokens;
}
