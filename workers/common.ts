/** What every worker process shares: its environment, its connections, readiness, an orderly end. */
import { join } from "node:path";
import { type NativeConnection, Runtime, Worker, type WorkerOptions } from "@temporalio/worker";
import type { PolicyAccess, RecordServices } from "../activities/index.ts";
import { connectWorker, temporalFromEnv } from "../infra/stack/temporal.ts";
import {
  createNanoTemplate,
  createOpenAIClient,
  type PolicyClient,
  publishPolicy,
} from "../services/policy/index.ts";
import { createLocalArtifacts, openDatabase, recordedArtifacts } from "../services/store/index.ts";
import { activityMetrics, metricsTelemetry } from "./metrics.ts";

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
}

export async function openWorkerProcess(): Promise<WorkerProcess> {
  const metrics = metricsTelemetry(process.env.TADPOLE_METRICS_PORT);
  Runtime.install({
    shutdownSignals: [],
    telemetryOptions: { logging: { filter: "ERROR", forward: {} }, ...(metrics ? { metrics } : {}) },
  });
  const dataFolder = required("TADPOLE_DATA");
  const temporal = temporalFromEnv();
  if (temporal === null) throw new Error("TEMPORAL_ADDRESS is not set");
  const db = await openDatabase(required("DATABASE_URL"));
  const artifacts = recordedArtifacts(await createLocalArtifacts(join(dataFolder, "artifacts")), db);
  const connection = await connectWorker(temporal);
  return {
    dataFolder,
    services: {
      db,
      artifacts,
      policy: policyAccess(required("TADPOLE_POLICY_URL"), (ref) => artifacts.path!(ref)),
    },
    connection,
    namespace: temporal.namespace,
  };
}

function policyAccess(
  stackServer: string,
  pathOf: (ref: Parameters<PolicyAccess["publish"]>[0]["checkpoint"]) => string,
): PolicyAccess {
  const clients = new Map<string, PolicyClient>();
  const template = createNanoTemplate();
  return {
    client: (server) => {
      const baseUrl = server.baseUrl ?? stackServer;
      const known = clients.get(baseUrl);
      if (known !== undefined) return known;
      const client = createOpenAIClient({ baseUrl, apiKeyEnv: server.apiKeyEnv, model: server.model });
      clients.set(baseUrl, client);
      return client;
    },
    template: () => template,
    publish: (policy, server) =>
      publishPolicy({ baseUrl: server.baseUrl ?? stackServer, policy, path: pathOf(policy.checkpoint) }),
  };
}

/** Runs one Temporal worker until SIGTERM or SIGINT. Activities are cancelled at once: they resume elsewhere. */
export async function runWorker(
  context: WorkerProcess,
  options: Omit<WorkerOptions, "connection" | "namespace">,
  close: (() => Promise<void>)[] = [],
): Promise<void> {
  const worker = await Worker.create({
    connection: context.connection,
    namespace: context.namespace,
    shutdownGraceTime: 0,
    // A cancellation reaches an activity within this time; the default of a minute would hold a full pool's surplus open.
    maxHeartbeatThrottleInterval: "5 seconds",
    defaultHeartbeatThrottleInterval: "5 seconds",
    interceptors: { activity: [activityMetrics(Runtime.instance().metricMeter)] },
    ...options,
  });
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => worker.shutdown());
  const running = worker.run();
  process.send?.({ ready: true });
  try {
    await running;
  } finally {
    for (const step of close) await step();
    await context.connection.close();
    await context.services.db.destroy();
  }
}
