/** verify: grades a group's rollouts in fresh sandboxes and records verdicts, rewards and the group. */
import { ApplicationFailure } from "@temporalio/activity";
import { keepGroup } from "../core/advantage.ts";
import { mayReuseGroup } from "../core/reuse.ts";
import { shapedReward } from "../core/reward.ts";
import type { FileChange, Task, Verdict } from "../core/task.ts";
import {
  findVerdict,
  type GradedRollout,
  hashJson,
  listRollouts,
  type RolloutRow,
  recordGroup,
  setVerdict,
} from "../services/store/index.ts";
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
    const raw: (0 | 1)[] = [];
    const rewards: number[] = [];
    for (const row of rollouts) {
      const verdictKey = verdictKeyOf(group, row);
      const verdict =
        (await knownVerdict(services, group, row, verdictKey)) ??
        (await gradeRollout(services, group, row, signal));
      const passed = verdict.rawReward === 1 ? 1 : 0;
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
        verdictKey,
        ...(verdict.key === row.key ? {} : { from: verdict.key }),
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

/** Equal keys = the same verdict. The reward is no part of it: it is worked out from the verdict each time. */
function verdictKeyOf(group: GroupInput, row: RolloutRow): string {
  return hashJson({
    rollout: row.content_key,
    task: group.taskId,
    change: row.change,
    mode: group.grading.mode,
  });
}

/** The verdict that the rollout has already, or that an earlier try found for it. */
async function knownVerdict(
  { db }: SandboxServices,
  group: GroupInput,
  row: RolloutRow,
  verdictKey: string,
): Promise<GradedRollout | undefined> {
  if (row.verdict_key === verdictKey && row.raw_reward !== null) {
    return {
      key: row.verdict_from ?? row.key,
      outcome: row.outcome as GradedRollout["outcome"],
      rule: row.rule as GradedRollout["rule"],
      rawReward: row.raw_reward,
    };
  }
  if (!mayReuseGroup(group.reuse, group.phase, "verdict")) return undefined;
  const { experiment } = group.scope;
  return findVerdict(db, { key: row.key, experiment, contentKey: row.content_key, verdictKey });
}

async function gradeRollout(
  services: SandboxServices,
  group: GroupInput,
  row: RolloutRow,
  signal: AbortSignal,
): Promise<GradedRollout> {
  const task = await loadTask(services, group.taskId);
  const verdict = await services.grading.grade({
    environment: await services.environments.byKey(task.environment),
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
  if (blamesEnvironment(task, verdict)) await services.environments.check(task.environment);
  return {
    key: row.key,
    outcome: verdict.outcome,
    rule: verdict.rule,
    rawReward: verdict.outcome === "passed" ? 1 : 0,
  };
}

/** Whether more failed than the task is about: the change may have broken it, or the environment is broken, which must cost no reward. */
function blamesEnvironment({ passToPass }: Task, { outcome, statuses }: Verdict): boolean {
  if (outcome !== "failed") return false;
  return passToPass.length === 0 || passToPass.some((test) => statuses[test] !== "passed");
}
