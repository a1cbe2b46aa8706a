/**
 * What 12,000 rollouts cost: a whole experiment (pools, climb, selection, evaluations) by the project's own workflows, through a private Temporal
 * server, with activities that answer at once. What is left is orchestration. The same with 1,000 rollouts on the same server and the
 * same worker processes, just before, is the reference: a cost that grows with what has already been done shows as a ratio above 1.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@temporalio/client";
import { loadExperiment } from "../apps/control/index.ts";
import type { ExperimentSettings } from "../core/experiment.ts";
import {
  connectTemporal,
  databaseUrl,
  ensureStack,
  type StackState,
  stackFiles,
  stackStatus,
  stopStack,
} from "../infra/stack/index.ts";
import { MEMORY_FLAGS } from "../infra/stack/processes.ts";
import { QUEUES } from "../workflows/queues.ts";
import { type BenchContext, type Measure, measure, temporaryFolder } from "./bench.ts";
import { timed } from "./repeat.ts";
import { type HistorySizes, historySizes } from "./scale-history.ts";
import { rolloutsOf, scaledSettings } from "./scale-plan.ts";
import { measureRecord, type RecordUse } from "./scale-record.ts";
import type { WorkerUse } from "./scale-worker.ts";

/** Units of 1,000 rollouts, and groups of 8 that are written to the record. */
const FULL = { warmUp: 1, reference: 1, subject: 12, recordGroups: 32 };
const QUICK = { warmUp: 1, reference: 1, subject: 2, recordGroups: 8 };

/** What the project promises of every history, and of every payload. */
const MOST_EVENTS = 4096;
const MOST_PAYLOAD_KB = 100;
/** Bytes at which the server suggests to continue as new. */
const SUGGESTED_MB = 4.19;

interface Use {
  readonly orchestrate: WorkerUse;
  readonly work: WorkerUse;
  readonly serverCpuSeconds: number;
  readonly serverBytes: number;
}

interface Stretch {
  readonly rollouts: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly serverBytes: number;
  /** After it. */
  readonly use: Use;
}

export async function run(context: BenchContext): Promise<readonly Measure[]> {
  const sizes = context.quick ? QUICK : FULL;
  const stack = await startServers(context);
  const use = await startWorkers(context, stack);
  const { client, connection } = await connectTemporal(stack.temporal);
  context.defer(() => connection.close());
  const { settings: paper } = await loadExperiment("frognano", { set: [] });
  const stretch = async (name: string, units: number): Promise<Stretch> => {
    const settings = scaledSettings(paper, units);
    const before = await use();
    const { seconds } = await timed(() => runExperiment(client, name, settings));
    const after = await use();
    const done = stretchOf(settings, seconds, before, after);
    context.progress(
      `${name}: ${done.rollouts} rollouts in ${seconds.toFixed(0)} s; ${cpuShares(before, after)}`,
    );
    return done;
  };
  await stretch("warm-up", sizes.warmUp);
  const reference = await stretch("reference", sizes.reference);
  const subject = await stretch("subject", sizes.subject);
  const histories = await historySizes(client, 'TadpoleExperiment = "subject"');
  context.progress(
    `${histories.executions} executions; largest: ${histories.events.workflow} (events), ${histories.bytes.workflow} (bytes), ${histories.payload.workflow} (payload)`,
  );
  const record = await measureRecord(context, databaseUrl(stack), sizes.recordGroups);
  return [...costs(reference, subject), ...growth(reference, subject, histories), ...recordMeasures(record)];
}

/** Seconds of CPU by process: where a cost that grows comes from. */
function cpuShares(before: Use, after: Use): string {
  const seconds = (name: string, of: (use: Use) => number) =>
    `${name} ${(of(after) - of(before)).toFixed(1)}`;
  return `CPU seconds: ${[
    seconds("server", (use) => use.serverCpuSeconds),
    seconds("orchestrator", (use) => use.orchestrate.cpuSeconds),
    seconds("other worker", (use) => use.work.cpuSeconds),
  ].join(", ")}`;
}

/** Throws when a rollout was lost or asked for twice. */
function stretchOf(settings: ExperimentSettings, seconds: number, before: Use, after: Use): Stretch {
  const expected = rolloutsOf(settings);
  const asked = after.work.asked - before.work.asked;
  const slots = after.work.slots - before.work.slots;
  if (asked !== expected || slots !== expected)
    throw new Error(`expected ${expected} rollouts; ${asked} were asked for, of ${slots} slots`);
  const cpu = ({ orchestrate, work, serverCpuSeconds }: Use) =>
    orchestrate.cpuSeconds + work.cpuSeconds + serverCpuSeconds;
  return {
    rollouts: expected,
    seconds,
    cpuSeconds: cpu(after) - cpu(before),
    serverBytes: after.serverBytes - before.serverBytes,
    use: after,
  };
}

function costs(reference: Stretch, subject: Stretch): Measure[] {
  const at = count(subject);
  const each = (stretch: Stretch, total: number) => total / stretch.rollouts;
  return [
    measure({
      name: `CPU per rollout at ${at}, of a rollout of 1 s`,
      value: 1000 * each(subject, subject.cpuSeconds),
      unit: "ms",
      reference: 1000,
      better: "lower",
      goal: 0.1,
    }),
    measure({
      name: `time per rollout at ${at}, of a rollout of 1 s`,
      value: 1000 * each(subject, subject.seconds),
      unit: "ms",
      reference: 1000,
      better: "lower",
      goal: 0.1,
    }),
    measure({
      name: `CPU per rollout at ${at}, of that at ${count(reference)}`,
      value: 1000 * each(subject, subject.cpuSeconds),
      unit: "ms",
      reference: 1000 * each(reference, reference.cpuSeconds),
      better: "lower",
      goal: 1.1,
    }),
    measure({
      name: `rollouts per second at ${at}, of those at ${count(reference)}`,
      value: subject.rollouts / subject.seconds,
      unit: "1/s",
      reference: reference.rollouts / reference.seconds,
      better: "higher",
      goal: null,
    }),
    measure({
      name: `server's database per rollout at ${at}, of that at ${count(reference)}`,
      value: each(subject, subject.serverBytes) / 1000,
      unit: "kB",
      reference: each(reference, reference.serverBytes) / 1000,
      better: "lower",
      goal: null,
    }),
  ];
}

function growth(reference: Stretch, subject: Stretch, { events, bytes, payload }: HistorySizes): Measure[] {
  const memory = (process: "orchestrate" | "work", name: string) =>
    measure({
      name: `memory of ${name} after ${count(subject)}, of that after ${count(reference)}`,
      value: subject.use[process].rssBytes / 1e6,
      unit: "MB",
      reference: reference.use[process].rssBytes / 1e6,
      better: "lower",
      goal: 1.1,
    });
  return [
    memory("orchestrate", "the orchestrator"),
    memory("work", "the other worker"),
    measure({
      name: "longest history",
      value: events.size,
      unit: "events",
      reference: MOST_EVENTS,
      better: "lower",
      goal: 1,
    }),
    measure({
      name: "largest history",
      value: bytes.size / 1e6,
      unit: "MB",
      reference: SUGGESTED_MB,
      better: "lower",
      goal: null,
    }),
    measure({
      name: "largest payload",
      value: payload.size / 1000,
      unit: "kB",
      reference: MOST_PAYLOAD_KB,
      better: "lower",
      goal: 1,
    }),
  ];
}

function recordMeasures({ rollouts, rows, bytes, trajectoryBytes }: RecordUse): Measure[] {
  return [
    measure({
      name: "rows of the record per rollout, of the one that is the rollout",
      value: rows / rollouts,
      unit: "rows",
      reference: 1,
      better: "lower",
      goal: null,
    }),
    measure({
      name: "record per rollout, of its trajectory as JSON",
      value: bytes / rollouts / 1000,
      unit: "kB",
      reference: trajectoryBytes / rollouts / 1000,
      better: "lower",
      goal: null,
    }),
  ];
}

function count({ rollouts }: Stretch): string {
  return rollouts.toLocaleString("en-US");
}

async function runExperiment(client: Client, name: string, settings: ExperimentSettings): Promise<void> {
  await client.workflow.execute("runExperiment", {
    workflowId: `exp/${name}`,
    taskQueue: QUEUES.orchestrate,
    args: [{ name, settings }],
  });
}

/** Servers of the stack's own kind, alone in a folder of their own; the caller's are left in peace. */
async function startServers(context: BenchContext): Promise<StackState> {
  const dataFolder = await temporaryFolder(context);
  context.defer(() => stopStack(dataFolder));
  const own = Object.entries(process.env).filter(([name]) => !/^(TEMPORAL|TADPOLE|DATABASE)_/.test(name));
  context.progress("starting Temporal and Postgres");
  return ensureStack({
    dataFolder,
    env: { ...Object.fromEntries(own), TADPOLE_STACK_ONLY: "temporal,postgres" },
  });
}

/** Returns what says how much they and the server have used so far. */
async function startWorkers(context: BenchContext, stack: StackState): Promise<() => Promise<Use>> {
  const { dataFolder, temporal } = stack;
  const start = async (role: "orchestrate" | "work"): Promise<ChildProcess> => {
    const child = fork(join(import.meta.dirname, "scale-worker.ts"), [role, dataFolder], {
      execArgv: [...MEMORY_FLAGS, "--expose-gc"],
      env: {
        ...process.env,
        TEMPORAL_ADDRESS: temporal.address,
        TEMPORAL_NAMESPACE: temporal.namespace,
        MALLOC_ARENA_MAX: "2",
      },
    });
    context.defer(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGTERM");
      await once(child, "exit");
    });
    await reply(child);
    return child;
  };
  const orchestrate = await start("orchestrate");
  const work = await start("work");
  const ask = async (child: ChildProcess): Promise<WorkerUse> => {
    child.send("use");
    return (await reply(child)) as WorkerUse;
  };
  return async () => {
    // The server still writes to its visibility store, the workers still drop what has ended.
    await sleep(2000);
    const server = stackStatus(dataFolder).processes.find(({ name }) => name === "temporal")!;
    return {
      orchestrate: await ask(orchestrate),
      work: await ask(work),
      serverCpuSeconds: server.cpuSeconds,
      serverBytes: databaseBytes(stackFiles(dataFolder).temporalDatabase),
    };
  };
}

async function reply(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController();
  const exit = (code: number | null) => ended.abort(new Error(`a worker ended with ${code}`));
  child.once("exit", exit);
  try {
    const [message] = await once(child, "message", { signal: ended.signal });
    return message;
  } catch (error) {
    throw ended.signal.aborted ? ended.signal.reason : error;
  } finally {
    child.off("exit", exit);
  }
}

/** With the write-ahead log. */
function databaseBytes(file: string): number {
  return [file, `${file}-wal`].reduce(
    (sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}
