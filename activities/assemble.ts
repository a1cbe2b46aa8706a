/** assemble: an update's groups become one immutable batch; groups whose raw rewards are all equal are left out (docs/method.md §6). */

import { advantages, keepGroup } from "../core/advantage.ts";
import type { ArtifactRef } from "../core/artifact.ts";
import { trainedMembers } from "../core/groups.ts";
import { scopeKey } from "../core/scope.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { getJson, listRollouts, recordBatch } from "../services/store/index.ts";
import { type BatchRow, encodeBatch } from "../services/trainers/batch.ts";
import type { RecordServices } from "./services.ts";
import type { AssembleInput, AssembleOutput } from "./types.ts";

export async function assemble(services: RecordServices, input: AssembleInput): Promise<AssembleOutput> {
  const rows: BatchRow[] = [];
  // Names within the try: the same groups of another try, or of another experiment, make the same bytes.
  const prefix = `${scopeKey(input.scope)}/`;
  const within = (key: string) => (key.startsWith(prefix) ? key.slice(prefix.length) : key);
  let kept = 0;
  let dropped = 0;
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
  const batch = rows.length === 0 ? null : await services.artifacts.put(encodeBatch(rows), "batch");
  await recordBatch(services.db, {
    experiment: input.scope.experiment,
    iteration: input.scope.iteration,
    try: input.scope.try,
    update: input.update,
    groups: [...input.groups],
    kept_groups: kept,
    dropped_groups: dropped,
    artifact: batch,
  });
  return { batch, kept, dropped };
}
