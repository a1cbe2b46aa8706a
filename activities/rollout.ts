/** rollout: one Leaf rollout, recorded turn by turn, gone on with by the next attempt where one ended, accepted once for its slot. */
import { CancelledFailure } from "@temporalio/activity";
import { errorKind } from "../core/errors.ts";
import type { TokensByPolicy } from "../core/lag.ts";
import { isEngineKind } from "../core/policy.ts";
import { random } from "../core/random.ts";
import { mayReuseGroup } from "../core/reuse.ts";
import type { FileChange } from "../core/task.ts";
import { type ExitReason, isTruncated, type Trajectory } from "../core/trajectory.ts";
import { boxSpec, historyOverlay, withoutHistory } from "../services/environments/index.ts";
import type { LimitOverrides } from "../services/environments/types.ts";
import { limitsOf } from "../services/grading/index.ts";
import {
  HARNESS_VERSION,
  type LedgerTurn,
  type RolloutOutcome,
  runRollout,
} from "../services/harness/index.ts";
import { type Sandbox, type SandboxLimits, tookAllMemory } from "../services/sandbox/runtime.ts";
import {
  appendTurn,
  closeSlot,
  completeTurn,
  dropTurns,
  findRollout,
  getStatement,
  hashJson,
  openAttempt,
  putJson,
  type RolloutRow,
  readHold,
  StoreError,
  sealRollout,
  takeOverRollout,
} from "../services/store/index.ts";
import { heartbeating } from "./context.ts";
import { afterFailure } from "./retries.ts";
import { ofGroup, timed } from "./sandbox-time.ts";
import type { SandboxServices } from "./services.ts";
import { restoreSandbox } from "./slot.ts";
import { agentOverlay, loadTask } from "./tasks.ts";
import type { GroupInput, RolloutInput, RolloutOutput } from "./types.ts";

/** Boot, agent, collection and destruction of one sandbox: more than the activity may take; the reaper may remove it afterwards. */
const SANDBOX_LIFETIME_MS = 3 * 60 * 60 * 1000;
const DISK_MB = 256;

export async function rollout(services: SandboxServices, input: RolloutInput): Promise<RolloutOutput> {
  const { group, member } = input;
  const key = `${group.key}/${member}`;
  const [task, statement] = await Promise.all([
    loadTask(services, group.taskId),
    getStatement(services.db, group.taskId, group.level),
  ]);
  const contentKey = rolloutContentKey(group, member, statement.hash);
  const { experiment } = group.scope;
  const accepted = await acceptedRollout(services, input, contentKey);
  if (accepted !== undefined) {
    // An attempt of its own may have died, or be at it still: neither its sandbox nor its turns are needed.
    await services.runtime.removeSlot({ experiment, slot: key });
    await closeSlot(services.db, key);
    return summary(accepted);
  }

  return timed(services, ofGroup("rollout", group), () =>
    heartbeating(async ({ signal, beat, withEachBeat }) => {
      const epoch = (await readHold(services.db, experiment))?.epoch ?? 0;
      const slot = { rolloutKey: key, experiment, epoch };
      const attempt = await openAttempt(services.db, slot);
      const ledgerRow = (turn: LedgerTurn) => ({ ...turn, reply: { ...turn.reply, contentKey } });
      const beginAnew = (reason: string) => dropTurns(services.db, attempt.fence, reason);
      let sandbox: Sandbox | null = null;
      try {
        const environment = await services.environments.byKey(task.environment);
        const settings = {
          ...(group.sandbox.reuseCommands ? { commandCache: services.commandCache(environment.key) } : {}),
          commandCpuSeconds: limitsOf(environment).cpuSeconds,
          signal,
        };
        const isOurs = attempt.resumed.every(({ reply }) => reply.contentKey === contentKey);
        if (!isOurs) await beginAnew("begun anew: the turns on record are of a rollout with other settings");
        const overlay = agentOverlay(task);
        const restored = await restoreSandbox(services.runtime, {
          spec: boxSpec(environment, {
            overlay: [...overlay, ...(await historyOverlay(environment, overlay))],
            limits: boxLimits(group.sandbox, environment.entry.limits),
          }),
          identity: {
            experiment,
            slot: key,
            attempt: attempt.attempt,
            fence: attempt.fence,
            deadline: Date.now() + SANDBOX_LIFETIME_MS,
            adoptable: true,
          },
          resumed: isOurs ? attempt.resumed : [],
          previousFence: attempt.previous?.fence ?? null,
          settings,
          onSandbox: (made) => {
            sandbox = made;
            withEachBeat(() => renewLease(made));
          },
          onAnew: beginAnew,
        });
        const outcome = await runRollout({
          ...settings,
          statement: statement.text,
          policy: group.policy.id,
          limits: group.limits,
          sampling: group.sampling,
          turnSeed: (turn) => random(group.seed, ...group.randomKeys, member, turn).seed32(),
          affinity: key,
          sandbox: restored.sandbox,
          client: services.policy.client(group.policyServer),
          template: await services.policy.template(group.policy, group.policyServer),
          ledger: {
            append: (turn) => appendTurn(services.db, attempt.fence, ledgerRow(turn)),
            complete: (turn) => completeTurn(services.db, attempt.fence, ledgerRow(turn)),
          },
          resumed: restored.rows,
          onTurn: (turn) => beat({ turn }),
        });
        if (outcome.trajectory.exit === "cancelled") throw new CancelledFailure("the rollout was cancelled");
        const { exit, tree, change } = await handedIn(restored.sandbox, outcome);
        const trajectory = { ...outcome.trajectory, exit };
        const row = await sealRollout(services.db, attempt.fence, {
          key,
          group_key: group.key,
          member,
          task_id: group.taskId,
          level: group.level,
          policy: group.policy.id,
          content_key: contentKey,
          exit,
          truncated: isTruncated(exit),
          turns: trajectory.turns.length,
          generated_tokens: trajectory.generatedTokens,
          outcome: null,
          rule: null,
          raw_reward: null,
          reward: null,
          tree_hash: tree,
          change,
          trajectory: await putJson(services.artifacts, trajectory, "trajectory"),
          tools: toolCounts(trajectory),
          tokens: outcome.tokens,
          versions: othersThan(group.policy.id, outcome.versions),
          model_seconds: outcome.modelSeconds,
          tool_seconds: outcome.toolSeconds,
        });
        const forks = trajectory.segments.length - 1;
        return {
          ...summary(row),
          ...(forks > 0 ? { forks } : {}),
          failure: attempt.previous?.error ?? null,
        };
      } catch (error) {
        // Its turns stay, and so does its being current: the next attempt goes on from here.
        if (signal.aborted) throw new CancelledFailure("the rollout was cancelled");
        // A restarted policy server serves only what it was told to: tell it, then let the slot's next attempt run.
        // Where that fails too, the next attempt meets the same server.
        // Engines serve one version at a time, which may be a newer one by now: the worker beside them decides (services/publication).
        if (errorKind(error) === "not-served" && !isEngineKind(group.policyServer.kind))
          await services.policy.publish(group.policy, group.policyServer).catch(() => undefined);
        throw await afterFailure(services.db, slot, attempt.fence, error);
      } finally {
        await (sandbox as Sandbox | null)?.destroy();
      }
    }),
  );
}

/** A lease that cannot be renewed is nothing to fail by: what is wrong with the sandbox or the disk, the next thing done in it tells. */
function renewLease(sandbox: Sandbox): void {
  try {
    sandbox.renew(Date.now());
  } catch {}
}

/**
 * What is graded. Where the sandbox was killed whole for what its own commands took of memory, what was done in it is gone: the rollout hands in
 * the tree it was given, and is scored for that. Trying again would end the same way.
 */
async function handedIn(
  sandbox: Sandbox,
  { trajectory, treeGiven }: RolloutOutcome,
): Promise<{ readonly exit: ExitReason; readonly tree: string; readonly change: readonly FileChange[] }> {
  const nothing = { exit: "tool_error", tree: treeGiven, change: [] } as const;
  if (trajectory.exit === "tool_error") return nothing;
  try {
    const tree = await sandbox.treeHash();
    return { exit: trajectory.exit, tree, change: withoutHistory(await sandbox.changes()) };
  } catch (error) {
    // A process that was left behind may be at it still.
    if (tookAllMemory(error)) return nothing;
    throw error;
  }
}

/** The slot's rollout where it has one, or may take one over. Throws StoreError `conflict` when its rollout is another. */
async function acceptedRollout(
  { db }: SandboxServices,
  { group, member }: RolloutInput,
  contentKey: string,
): Promise<RolloutRow | undefined> {
  const key = `${group.key}/${member}`;
  const done = await findRollout(db, key);
  if (done?.content_key === contentKey) return done;
  if (done !== undefined)
    throw new StoreError(
      "conflict",
      `rollout ${key} is already accepted with content ${done.content_key}, not ${contentKey}`,
    );
  if (!mayReuseGroup(group.reuse, group.phase, "rollout")) return undefined;
  const { experiment } = group.scope;
  return takeOverRollout(db, { key, groupKey: group.key, member, experiment, contentKey });
}

/** Equal keys = the same rollout, whoever runs it and when. */
function rolloutContentKey(group: GroupInput, member: number, statementHash: string): string {
  return hashJson({
    task: group.taskId,
    statement: statementHash,
    policy: group.policy.id,
    harness: HARNESS_VERSION,
    limits: group.limits,
    sampling: group.sampling,
    random: [group.seed, ...group.randomKeys, member],
  });
}

function toolCounts(trajectory: Trajectory): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const turn of trajectory.turns)
    for (const call of turn.toolCalls) counts[call.name] = (counts[call.name] ?? 0) + 1;
  return counts;
}

/** Null where all tokens are of that policy: its row says so already. */
function othersThan(policy: string, versions: TokensByPolicy): TokensByPolicy | null {
  return Object.keys(versions).every((version) => version === policy) ? null : versions;
}

function summary(row: RolloutRow): RolloutOutput {
  return { key: row.key, exit: row.exit, turns: row.turns, generatedTokens: row.generated_tokens };
}

/** The experiment's limits, raised where the environment's own tools need more. */
function boxLimits(
  { memoryMb, processes }: Pick<SandboxLimits, "memoryMb" | "processes">,
  own: LimitOverrides = {},
): SandboxLimits {
  return {
    memoryMb: Math.max(memoryMb, own.memoryMb ?? 0),
    processes: Math.max(processes, own.processes ?? 0),
    diskMb: Math.max(DISK_MB, own.diskMb ?? 0),
  };
}
