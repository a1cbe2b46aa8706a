/** verify: grades a group's rollouts in fresh sandboxes and records verdicts, rewards and the group. */
import { ApplicationFailure } from "@temporalio/activity";
import { keepGroup } from "../core/advantage.ts";
import { shapedReward } from "../core/reward.ts";
import type { FileChange } from "../core/task.ts";
import { findGroup, listRollouts, recordGroup, setVerdict } from "../services/store/index.ts";
import { heartbeating } from "./context.ts";
import type { SandboxServices } from "./services.ts";
import { loadTask } from "./tasks.ts";
import type { GroupInput, VerifyOutput } from "./types.ts";

export async function verify(services: SandboxServices, group: GroupInput): Promise<VerifyOutput> {
  return heartbeating(async ({ signal, beat }) => {
    const rollouts = (await listRollouts(services.db, group.key)).filter((row) => row.member < group.size);
    if (rollouts.length !== group.size) {
      throw new Error(`group ${group.key} has ${rollouts.length} rollouts on record, expected ${group.size}`);
    }
    const known = await findGroup(services.db, group.key);
    if (
      known !== undefined &&
      known.policy === group.policy.id &&
      rollouts.every((row) => row.reward !== null)
    ) {
      return {
        key: group.key,
        passes: known.passes,
        size: known.size,
        meanReward: known.mean_reward,
        zeroVariance: known.zero_variance,
      };
    }
    const task = await loadTask(services, group.taskId);
    const environment = await services.environments.byKey(task.environment);
    const raw: (0 | 1)[] = [];
    const rewards: number[] = [];
    for (const row of rollouts) {
      const verdict = await services.grading.grade({
        environment,
        task,
        change: row.change as FileChange[],
        mode: group.grading.mode,
        reuse: group.grading.reuse,
        signal,
      });
      if (verdict.outcome === "infrastructure") {
        throw ApplicationFailure.create({
          message: `grading ${row.key}: ${verdict.offending.join("; ")}`,
          type: "Infrastructure",
        });
      }
      const passed = verdict.outcome === "passed" ? 1 : 0;
      const reward = shapedReward(
        {
          raw: passed,
          truncated: row.truncated,
          generatedTokens: row.generated_tokens,
          iteration: group.scope.iteration,
        },
        group.reward,
      );
      await setVerdict(services.db, row.key, {
        outcome: verdict.outcome,
        rule: verdict.rule,
        rawReward: passed,
        reward,
      });
      raw.push(passed);
      rewards.push(reward);
      beat({ graded: raw.length });
    }
    const passes = raw.reduce<number>((sum, value) => sum + value, 0);
    const meanReward = rewards.reduce((sum, value) => sum + value, 0) / rewards.length;
    const zeroVariance = !keepGroup(raw);
    await recordGroup(services.db, {
      key: group.key,
      experiment: group.scope.experiment,
      iteration: group.scope.iteration,
      try: group.scope.try,
      phase: group.phase,
      task_id: group.taskId,
      level: group.level,
      policy: group.policy.id,
      size: group.size,
      passes,
      mean_reward: meanReward,
      zero_variance: zeroVariance,
    });
    return { key: group.key, passes, size: group.size, meanReward, zeroVariance };
  });
}
