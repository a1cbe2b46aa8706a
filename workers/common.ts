/** What every worker process shares: its environment, its connections, readiness, an orderly end. */
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { MetricMeter } from "@temporalio/common";
import { type NativeConnection, Runtime, Worker, type WorkerOptions } from "@temporalio/worker";
import type { PolicyAccess, RecordServices } from "../activities/index.ts";
import type { ArtifactRef } from "../core/artifact.ts";
import { connectWorker, StackError, temporalFromEnv } from "../infra/stack/index.ts";
import { minFreeMb } from "../infra/stack/settings.ts";
import {
  createNanoTemplate,
  createOpenAIClient,
  type PolicyClient,
  PolicyError,
  publishPolicy,
} from "../services/policy/index.ts";
import {
  ArtifactError,
  type ArtifactStore,
  openArtifacts,
  openDatabase,
  recordedArtifacts,
} from "../services/store/index.ts";
import { buildId } from "./bundle.ts";
import { withEngines } from "./engines.ts";
import { activityMetrics, measuredArtifacts } from "./measures.ts";
import { installRuntime } from "./metrics.ts";

/** Ends the process with one line when a variable that the supervisor sets is missing. */
export function required(name: string): string {
  const value = process.env[name];
  if (!value) {
    console.error(`${name} is not set: workers are started by the stack (tadpole up), or need its variables`);
    process.exit(2);
  }
  return value;
}

export interface WorkerProcess {
  readonly dataFolder: string;
  readonly services: RecordServices;
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly meter: MetricMeter;
  /** URL of this process's metrics; null without an endpoint. */
  readonly metrics: string | null;
}

export async function openWorkerProcess(): Promise<WorkerProcess> {
  const metrics = await setting(installRuntime);
  const meter = Runtime.instance().metricMeter;
  const dataFolder = required("TADPOLE_DATA");
  const temporal = temporalFromEnv();
  if (temporal === null) throw new Error("TEMPORAL_ADDRESS is not set");
  const db = await openDatabase(required("DATABASE_URL"));
  const store = await setting((env) => openArtifacts(dataFolder, env));
  const artifacts = recordedArtifacts(measuredArtifacts(store, meter), db);
  const connection = await connectWorker(temporal);
  return {
    dataFolder,
    services: {
      db,
      artifacts,
      policy: withEngines(
        policyAccess(process.env.TADPOLE_POLICY_URL || null, (ref) => localFile(artifacts, ref, dataFolder)),
        artifacts,
        meter,
      ),
      disk: { folder: dataFolder, minFreeMb: await setting(minFreeMb) },
    },
    connection,
    namespace: temporal.namespace,
    meter,
    metrics,
  };
}

/** What `read` makes of the environment. Ends the process with one line when a variable says nonsense. */
export async function setting<T>(read: (env: NodeJS.ProcessEnv) => T | Promise<T>): Promise<T> {
  try {
    return await read(process.env);
  } catch (error) {
    const ours = error instanceof StackError || error instanceof ArtifactError;
    if (!(ours && error.kind === "settings")) throw error;
    console.error(error.message);
    process.exit(2);
  }
}

/** The policy server reads files, again whenever it starts: of a store elsewhere they are kept in the data folder. */
async function localFile(artifacts: ArtifactStore, ref: ArtifactRef, dataFolder: string): Promise<string> {
  if (artifacts.path) return artifacts.path(ref);
  const folder = join(dataFolder, "policy-files");
  const file = join(folder, ref.sha256);
  if (existsSync(file)) return file;
  await mkdir(folder, { recursive: true });
  await artifacts.getFile(ref, file);
  return file;
}

/** `stackServer`: null on a machine that has no stack. */
function policyAccess(
  stackServer: string | null,
  fileOf: (ref: ArtifactRef) => Promise<string>,
): PolicyAccess {
  const clients = new Map<string, PolicyClient>();
  const template = createNanoTemplate();
  const urlOf = (server: Parameters<PolicyAccess["client"]>[0]): string => {
    const url = server.baseUrl ?? stackServer;
    if (url !== null) return url;
    throw new PolicyError(
      "capability",
      "TADPOLE_POLICY_URL is not set: this worker knows no policy server; a stack has one",
    );
  };
  return {
    client: (server) => {
      const baseUrl = urlOf(server);
      const known = clients.get(baseUrl);
      if (known !== undefined) return known;
      const client = createOpenAIClient({ baseUrl, apiKeyEnv: server.apiKeyEnv, model: server.model });
      clients.set(baseUrl, client);
      return client;
    },
    template: async () => template,
    publish: async (policy, server) => {
      const path = await fileOf(policy.checkpoint);
      return publishPolicy({ baseUrl: urlOf(server), policy, path });
    },
  };
}

type QueueOptions = Omit<WorkerOptions, "connection" | "namespace">;

/**
 * Runs a Temporal worker for each queue until SIGTERM or SIGINT. Activities are cancelled at once: they resume elsewhere. `serving` is done once
 * they poll, before the process says that it serves.
 */
export async function runWorker(
  context: WorkerProcess,
  queues: QueueOptions | readonly QueueOptions[],
  close: (() => Promise<void>)[] = [],
  serving: () => Promise<void> = async () => {},
): Promise<void> {
  const workers = await Promise.all(
    [queues].flat().map((options) =>
      Worker.create({
        connection: context.connection,
        namespace: context.namespace,
        shutdownGraceTime: 0,
        // A cancellation reaches an activity within this time; the default of a minute would hold a full pool's surplus open.
        maxHeartbeatThrottleInterval: "5 seconds",
        defaultHeartbeatThrottleInterval: "5 seconds",
        interceptors: { activity: [activityMetrics(context.meter)] },
        ...options,
      }),
    ),
  );
  const shutdown = () => {
    for (const worker of workers) if (worker.getState() === "RUNNING") worker.shutdown();
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, shutdown);
  const running = Promise.all(workers.map((worker) => worker.run()));
  try {
    await Promise.race([serving(), running]);
    process.send?.({ ready: true, metrics: context.metrics, build: buildId() });
    await running;
  } finally {
    for (const step of close) await step();
    await context.connection.close();
    await context.services.db.destroy();
  }
}
