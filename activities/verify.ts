/** verify: grades a group's rollouts in fresh sandboxes and records verdicts, rewards and the group. */
import { keepGroup } from "../core/advantage.ts";
import { addTokens, tokensByPolicy } from "../core/lag.ts";
import { mayReuseGroup } from "../core/reuse.ts";
import { shapedReward } from "../core/reward.ts";
import type { FileChange, Task } from "../core/task.ts";
import type { VerdictLog } from "../core/verdict-log.ts";
import { evidenceOf } from "../services/grading/index.ts";
import {
  findVerdict,
  type GradedRollout,
  hashJson,
  listRollouts,
  putJson,
  type RolloutRow,
  recordGroup,
  setVerdict,
} from "../services/store/index.ts";
import { reachOf } from "../services/synthesis/index.ts";
import { blamesEnvironment, lost, provable } from "./blame.ts";
import { heartbeating } from "./context.ts";
import { flagsOfRollout } from "./flags.ts";
import { ofGroup, timed } from "./sandbox-time.ts";
import type { SandboxServices } from "./services.ts";
import { loadTask } from "./tasks.ts";
import type { GroupInput, VerifyOutput } from "./types.ts";

export async function verify(services: SandboxServices, group: GroupInput): Promise<VerifyOutput> {
  return heartbeating(async ({ signal, beat }) => {
    const rollouts = (await listRollouts(services.db, group.key)).filter((row) => row.member < group.size);
    if (rollouts.length !== group.size) {
      throw new Error(`group ${group.key} has ${rollouts.length} rollouts on record, expected ${group.size}`);
    }
    const task = await loadTask(services, group.taskId);
    const graded: Graded[] = [];
    for (const row of rollouts) {
      const verdictKey = verdictKeyOf(group, row, task);
      const known = await knownVerdict(services, group, row, verdictKey);
      const verdict = known ?? (await gradeRollout(services, group, row, task, signal));
      graded.push({ row, verdict, verdictKey, isNew: known === undefined });
      // A pass needs no other proof than itself.
      if (verdict.rawReward === 1) await recordVerdict(services, group, graded.at(-1)!);
      beat({ graded: graded.length });
    }
    const raw = graded.map(({ verdict }) => (verdict.rawReward === 1 ? 1 : 0));
    if (!raw.includes(1) && graded.some(({ isNew }) => isNew))
      await timed(services, ofGroup("verdict", group), () =>
        provable(services, task, group.grading.mode, signal),
      );
    for (const one of graded) if (one.verdict.rawReward !== 1) await recordVerdict(services, group, one);
    const rewards = graded.map((one) => rewardOf(group, one));
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
    const versions = rollouts.some((row) => row.versions !== null)
      ? { versions: rollouts.map(tokensByPolicy).reduce(addTokens, {}) }
      : {};
    return { key: group.key, passes, size: group.size, meanReward, zeroVariance, ...versions };
  });
}

interface Graded {
  readonly row: RolloutRow;
  readonly verdict: GradedRollout;
  readonly verdictKey: string;
  /** False where it was on record. */
  readonly isNew: boolean;
}

function rewardOf(group: GroupInput, { row, verdict }: Graded): number {
  return shapedReward(
    {
      raw: verdict.rawReward === 1 ? 1 : 0,
      truncated: row.truncated,
      generatedTokens: row.generated_tokens,
      iteration: group.scope.iteration,
    },
    group.reward,
  );
}

async function recordVerdict({ db }: SandboxServices, group: GroupInput, graded: Graded): Promise<void> {
  const { row, verdict, verdictKey } = graded;
  await setVerdict(db, row.key, {
    outcome: verdict.outcome,
    rule: verdict.rule,
    rawReward: verdict.rawReward === 1 ? 1 : 0,
    reward: rewardOf(group, graded),
    verdictKey,
    evidence: verdict.evidence ?? null,
    log: verdict.log ?? null,
    ...(verdict.key === row.key ? {} : { from: verdict.key }),
  });
}

/**
 * Equal keys = the same verdict: the rollout's change, the whole task by its hash, the rules. The reward is no part of it: it is worked out
 * from the verdict each time.
 */
function verdictKeyOf(
  group: Pick<GroupInput, "grading">,
  row: Pick<RolloutRow, "content_key" | "change">,
  task: Task,
): string {
  const { tree: _, ...rests } = evidenceOf(task, "");
  return hashJson({ rollout: row.content_key, change: row.change, mode: group.grading.mode, ...rests });
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
      evidence: row.evidence,
      log: row.verdict_log,
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
  task: Task,
  signal: AbortSignal,
): Promise<GradedRollout> {
  const environment = await services.environments.byKey(task.environment);
  const verdict = await timed(services, ofGroup("verdict", group), () =>
    services.grading.grade({
      environment,
      task,
      change: row.change as FileChange[],
      mode: group.grading.mode,
      reuse: group.grading.reuse,
      signal,
    }),
  );
  if (verdict.outcome === "infrastructure") throw lost(`grading ${row.key}: ${verdict.offending.join("; ")}`);
  if (blamesEnvironment(task, verdict)) await services.environments.check(task.environment);
  const { outcome, rule, offending, statuses, cpuSeconds, wallSeconds, mode, log = "" } = verdict;
  const flags = await flagsOfRollout(services.artifacts, row, { task, environment, outcome });
  // Without a solution there is no intended place.
  const reached = task.gold.length === 0 ? {} : reachOf(environment.root, task, row.change as FileChange[]);
  const found = {
    ...{ outcome, rule, offending, statuses, cpuSeconds, wallSeconds, mode, log, flags },
    ...reached,
  } satisfies VerdictLog;
  return {
    key: row.key,
    outcome,
    rule,
    rawReward: outcome === "passed" ? 1 : 0,
    evidence: verdict.evidence,
    log: await putJson(services.artifacts, found, "log"),
  };
}
