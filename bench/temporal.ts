/**
 * What durability costs: groups of rollouts with 1 s of work each through a private Temporal server, with the loop's own workflow, queues and
 * timeouts, against the same activities called in a loop at the same concurrency.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from "@temporalio/worker";
import type { GroupInput, RolloutInput, RolloutOutput, VerifyOutput } from "../activities/types.ts";
import { loadExperiment } from "../apps/control/index.ts";
import type { ExperimentSettings } from "../core/experiment.ts";
import {
  connectTemporal,
  connectWorker,
  ensureStack,
  type StackState,
  stopStack,
} from "../infra/stack/index.ts";
import { QUEUES } from "../workflows/queues.ts";
import { mapWindow } from "../workflows/window.ts";
import { type BenchContext, type Measure, measure, temporaryFolder } from "./bench.ts";
import { interleaved, medians, timed } from "./repeat.ts";
import type { collectGroups } from "./temporal-workflows.ts";

const WORK_MS = 1000;
const GROUPS = 8;
const GROUP_SIZE = 8;
/** Activities at once, on both sides. */
const SLOTS = 8;
const ROUNDS = 3;

/** Rollout and verdict without their work: what is left is time. */
const activities = {
  async rollout({ group, member }: RolloutInput): Promise<RolloutOutput> {
    await sleep(WORK_MS);
    return { key: `${group.key}/${member}`, exit: "agent", turns: 8, generatedTokens: 400 };
  },
  async verify({ key, size }: GroupInput): Promise<VerifyOutput> {
    return { key, passes: size / 2, size, meanReward: 0.5, zeroVariance: false };
  },
};

export async function run(context: BenchContext): Promise<readonly Measure[]> {
  Runtime.install({
    logger: new DefaultLogger("ERROR"),
    shutdownSignals: [],
    telemetryOptions: { logging: { filter: "ERROR", forward: {} } },
  });
  const stack = await startServer(context);
  await startWorkers(context, stack);
  const { client, connection } = await connectTemporal(stack.temporal);
  context.defer(() => connection.close());
  const { settings } = await loadExperiment("quickstart", { set: [] });
  const throughTemporal = (groups: readonly GroupInput[]) =>
    client.workflow.execute<typeof collectGroups>("collectGroups", {
      workflowId: `parent of ${groups[0]!.key}`,
      taskQueue: QUEUES.orchestrate,
      args: [groups.map((group) => ({ group })), settings.concurrency.groups],
    });

  // The first workflow of a worker also loads the bundle: paid once per process, not per rollout.
  await throughTemporal([groupOf(settings, "warm-up", 1)]);
  const results = await interleaved(ROUNDS, {
    subject: (round) => timed(() => throughTemporal(groupsOf(settings, `round ${round}`))),
    reference: (round) => timed(() => inLoop(groupsOf(settings, `round ${round}`))),
  });
  for (const [round, { seconds }] of results.subject.entries())
    context.progress(
      `round ${round + 1}: ${seconds.toFixed(2)} s through Temporal, ${results.reference[round]!.seconds.toFixed(2)} s in a loop`,
    );
  const { subject, reference } = medians(results, ({ seconds }) => seconds);
  return [
    measure({
      name: `${GROUPS * GROUP_SIZE} rollouts of ${WORK_MS / 1000} s at concurrency ${SLOTS}`,
      value: subject,
      unit: "s",
      reference,
      better: "lower",
      goal: 1.1,
    }),
  ];
}

async function inLoop(groups: readonly GroupInput[]): Promise<void> {
  const rollouts = groups.flatMap((group) =>
    Array.from({ length: group.size }, (_, member): RolloutInput => ({ group, member })),
  );
  await mapWindow(rollouts, SLOTS, activities.rollout);
  await mapWindow(groups, SLOTS, activities.verify);
}

/** A server of the stack's own kind, alone in a folder of its own; the caller's servers are left in peace. */
async function startServer(context: BenchContext): Promise<StackState> {
  const dataFolder = await temporaryFolder(context);
  context.defer(() => stopStack(dataFolder));
  const own = Object.entries(process.env).filter(([name]) => !/^(TEMPORAL|TADPOLE|DATABASE)_/.test(name));
  context.progress("starting a Temporal server");
  return ensureStack({
    dataFolder,
    env: { ...Object.fromEntries(own), TADPOLE_STACK_ONLY: "temporal" },
  });
}

/** As in the stack: one worker for workflows, one for the work. */
async function startWorkers(context: BenchContext, { temporal }: StackState): Promise<void> {
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: join(import.meta.dirname, "temporal-workflows.ts"),
    logger: new DefaultLogger("ERROR"),
  });
  const connection = await connectWorker(temporal);
  context.defer(() => connection.close());
  const common = { connection, namespace: temporal.namespace, shutdownGraceTime: 0 };
  const workers = await Promise.all([
    Worker.create({ ...common, taskQueue: QUEUES.orchestrate, workflowBundle }),
    Worker.create({
      ...common,
      taskQueue: QUEUES.sandbox,
      activities,
      maxConcurrentActivityTaskExecutions: SLOTS,
    }),
  ]);
  const running = Promise.all(workers.map((worker) => worker.run()));
  context.defer(() => {
    for (const worker of workers) worker.shutdown();
    return running;
  });
}

function groupsOf(settings: ExperimentSettings, name: string): GroupInput[] {
  return Array.from({ length: GROUPS }, (_, index) =>
    groupOf(settings, `${name}, group ${index}`, GROUP_SIZE),
  );
}

/** As large as the loop's own: the whole input goes through the server for each rollout. */
function groupOf(settings: ExperimentSettings, key: string, size: number): GroupInput {
  const sha256 = "0".repeat(64);
  return {
    scope: { experiment: "bench", iteration: 1, try: 1 },
    phase: "climb",
    key: `bench/it/1/try/1/climb/${key}`,
    taskId: "t0123456789abcdef",
    level: 1,
    policy: {
      id: "nano-0123456789abcdef",
      checkpoint: { uri: `artifact:${sha256}`, sha256, bytes: 100_000, kind: "policy" },
      parent: null,
      step: 0,
    },
    size,
    seed: settings.seed,
    randomKeys: [1, "climb", 1, 0],
    limits: settings.rollout.limits,
    sampling: settings.rollout.sampling,
    sandbox: settings.sandbox,
    grading: settings.grading,
    reward: settings.reward,
    policyServer: settings.policy,
  };
}
