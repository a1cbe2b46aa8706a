/**
 * Services for tests of activities: a real record, real sandboxes and one real task. Only what is expensive is narrow: verdicts are
 * read off a rollout's change, and the policy says given texts.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MockActivityEnvironment } from "@temporalio/testing";
import { DefaultLogger } from "@temporalio/worker";
import { createSandboxActivities, type SandboxServices } from "../../activities/index.ts";
import type { CandidateRef, EnvironmentRef, GroupInput } from "../../activities/types.ts";
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { PolicyRef } from "../../core/policy.ts";
import type { FileChange, Task, Verdict } from "../../core/task.ts";
import type { ExitReason, Trajectory } from "../../core/trajectory.ts";
import { createGrading, evidenceOf, type GradingService } from "../../services/grading/index.ts";
import { createCommandCache } from "../../services/harness/index.ts";
import { createNanoTemplate, type PolicyClient } from "../../services/policy/index.ts";
import { createProcessRuntime } from "../../services/sandbox/index.ts";
import {
  createLocalArtifacts,
  getJson,
  getTask,
  openAttempt,
  openDatabase,
  putJson,
  sealRollout,
} from "../../services/store/index.ts";
import { createSynthesis } from "../../services/synthesis/index.ts";
import { environmentAccess } from "../../workers/environment-access.ts";
import { startTestPostgres } from "../support/postgres.ts";

/** Failures are what some tests ask for: they are no warnings. */
const logger = new DefaultLogger("ERROR");

/** One call as a worker makes it, of a workflow of `experiment` where one is named. */
export const call = <I, O>(activity: (input: I) => Promise<O>, input: I, experiment?: string): Promise<O> =>
  new MockActivityEnvironment(
    experiment === undefined
      ? {}
      : { workflowExecution: { workflowId: `exp/${experiment}/it/1/try/1/climb`, runId: "run" } },
    { logger },
  ).run(activity, input);

export interface ActivityBench {
  readonly services: SandboxServices;
  /** Where its record and its files are: another process may work on them, too. */
  readonly url: string;
  readonly data: string;
  /** What grading was asked for, in order: the rollouts' changes. */
  readonly graded: (readonly FileChange[])[];
  /** Policies that were published, in order. */
  readonly published: string[];
  /** The policy of the rollouts to come. */
  play(client: PolicyClient): void;
  close(): Promise<void>;
}

/** With the same services whatever the runtime. */
export const sandboxActivities = (services: SandboxServices) =>
  createSandboxActivities(services, () => services);

/** The change of a rollout whose grading gives `outcome`. */
export const changeOf = (outcome: Verdict["outcome"]): FileChange[] => [
  { kind: "write", path: "outcome", content: outcome, encoding: "utf8" },
];

/** A change of another file is the reference solution's. */
function verdictOf(task: Task, change: readonly FileChange[]): Verdict {
  const [written] = change;
  const told = written?.path === "outcome" && written.kind === "write" ? written.content : "passed";
  const outcome = told as Verdict["outcome"];
  const rules = {
    passed: "all-passed",
    failed: "fail-to-pass-failed",
    infrastructure: "infrastructure",
  } as const;
  return {
    outcome,
    rule: rules[outcome],
    offending: outcome === "infrastructure" ? ["the host went away"] : [],
    statuses: outcome === "failed" ? Object.fromEntries(task.failToPass.map((name) => [name, "failed"])) : {},
    treeHash: "0".repeat(64),
    evidence: evidenceOf(task, "0".repeat(64)),
    cpuSeconds: 0,
    wallSeconds: 0,
    mode: "cold",
    log: `${outcome}\n`,
  };
}

export async function openActivityBench(): Promise<ActivityBench> {
  const data = await mkdtemp(join(tmpdir(), "activities-"));
  const postgres = await startTestPostgres();
  const bench = await activityBenchOn(postgres.url, data);
  return {
    ...bench,
    close: async () => {
      await bench.close();
      await postgres.stop();
      await rm(data, { recursive: true, force: true });
    },
  };
}

/** The same on a record and a folder that are there. */
export async function activityBenchOn(url: string, data: string): Promise<ActivityBench> {
  const db = await openDatabase(url);
  const artifacts = await createLocalArtifacts(join(data, "artifacts"));
  const runtime = createProcessRuntime({ root: join(data, "sandboxes"), nodePath: process.execPath });
  const real = createGrading({ runtime });
  const graded: (readonly FileChange[])[] = [];
  const published: string[] = [];
  let client: PolicyClient | null = null;
  const grading: GradingService = {
    ...real,
    grade: async ({ task, change }) => {
      graded.push(change);
      return verdictOf(task, change);
    },
  };
  const template = createNanoTemplate();
  const caches = new Map<string, ReturnType<typeof createCommandCache>>();
  const services: SandboxServices = {
    db,
    artifacts,
    policy: {
      client: () => client!,
      template: async () => template,
      publish: async (policy) => void published.push(policy.id),
    },
    environments: environmentAccess({
      dataFolder: data,
      runTests: (request) => real.runTests(request, "cold"),
      log: () => {},
      forget: (key) => real.forget(key),
    }),
    runtime,
    grading,
    synthesis: createSynthesis({ grading: real, sandboxRuntime: runtime, mode: "warm" }),
    disk: null,
    commandCache: (key) => caches.get(key) ?? caches.set(key, createCommandCache()).get(key)!,
  };
  return {
    services,
    url,
    data,
    graded,
    published,
    play: (next) => {
      client = next;
    },
    close: async () => {
      await real.close();
      await db.destroy();
    },
  };
}

/** A package prepared, candidates drawn, and the first one that passes the gates: by the activities themselves. */
export async function makeTask(
  services: SandboxServices,
  name: string,
): Promise<{ readonly environment: EnvironmentRef; readonly candidate: CandidateRef; readonly task: Task }> {
  const activities = sandboxActivities(services);
  const environment = await call(activities.prepareEnvironment, { name, repeats: 1 });
  const { candidates } = await call(activities.synthesise, {
    seed: 1,
    randomKeys: [1, "pool"],
    environments: [environment],
    choice: "random",
    functions: "all",
    mix: { mutation: 1, combination: 0, removal: 0 },
    heldOutShare: 0.3,
    exclude: null,
    from: 0,
    count: 12,
  });
  for (const candidate of candidates) {
    const { taskId } = await call(activities.validate, {
      recordScope: "e/it/1/try/1",
      candidate,
      stabilityRuns: 1,
      level: 2,
    });
    if (taskId === null) continue;
    const row = await getTask(services.db, taskId);
    return { environment, candidate, task: await getJson<Task>(services.artifacts, row.artifact) };
  }
  throw new Error(`no valid task of ${name} in ${candidates.length} candidates`);
}

const sha256 = "1".repeat(64);
export const POLICY: PolicyRef = {
  id: "nano-1111111111111111",
  checkpoint: { uri: `artifact:${sha256}`, sha256, bytes: 10, kind: "policy" },
  parent: null,
  step: 0,
};

export function groupOf(
  settings: ExperimentSettings,
  taskId: string,
  change: Partial<GroupInput>,
): GroupInput {
  return {
    scope: { experiment: "e", iteration: 1, try: 1 },
    phase: "climb",
    key: "e/it/1/try/1/climb/1/0",
    taskId,
    level: 2,
    policy: POLICY,
    size: 2,
    seed: settings.seed,
    randomKeys: [1, "climb", 1, 0],
    limits: settings.rollout.limits,
    sampling: settings.rollout.sampling,
    sandbox: settings.sandbox,
    grading: settings.grading,
    reward: settings.reward,
    policyServer: settings.policy,
    ...change,
  };
}

export interface Member {
  readonly outcome: Verdict["outcome"];
  readonly exit?: ExitReason;
  readonly segments?: Trajectory["segments"];
  /** What the agent says at its end. */
  readonly claim?: string;
  /** Instead of the one that tells its outcome; it passes. */
  readonly change?: readonly FileChange[];
  /** What it ran, one command each turn. */
  readonly commands?: readonly { readonly command: string; readonly result: string }[];
}

/** Rollouts on record, accepted and not yet graded, one per member. */
export async function recordRollouts(
  services: SandboxServices,
  group: GroupInput,
  members: readonly Member[],
): Promise<void> {
  for (const [member, { outcome, exit = "agent", segments, claim, ...more }] of members.entries()) {
    const trajectory: Trajectory = {
      segments: segments ?? [{ tokens: [7, member], trainable: [0, 1], logProbs: [0, -0.25] }],
      turns: (more.commands ?? []).map(({ command, result }, turn) => ({
        ...{ turn, promptTokens: 1, completionTokens: 1, treeHash: null, results: [result] },
        toolCalls: [{ id: `call-${turn}`, name: "Bash", arguments: JSON.stringify({ command }) }],
      })),
      messages: claim === undefined ? [] : [{ role: "assistant", content: claim }],
      weightVersion: group.policy.id,
      exit,
      generatedTokens: 1,
    };
    const key = `${group.key}/${member}`;
    const { fence } = await openAttempt(services.db, { rolloutKey: key, experiment: "", epoch: 0 });
    await sealRollout(services.db, fence, {
      key,
      group_key: group.key,
      member,
      task_id: group.taskId,
      level: group.level,
      policy: group.policy.id,
      content_key: key,
      exit,
      truncated: exit !== "agent",
      turns: 1,
      generated_tokens: 1,
      outcome: null,
      rule: null,
      raw_reward: null,
      reward: null,
      tree_hash: sha256,
      change: more.change ?? changeOf(outcome),
      trajectory: await putJson(services.artifacts, trajectory, "trajectory"),
      tools: {},
      model_seconds: 0,
      tool_seconds: 0,
    });
  }
}

/** Rollouts with these outcomes, graded: what a batch is assembled from. */
export async function recordGraded(
  services: SandboxServices,
  group: GroupInput,
  members: readonly Member[],
): Promise<void> {
  await recordRollouts(services, group, members);
  await call(sandboxActivities(services).verify, { ...group, size: members.length });
}
