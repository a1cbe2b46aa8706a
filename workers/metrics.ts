/** The Prometheus endpoint of a worker process, with the SDK's series and Tadpole's own (docs/metrics.md). */
import { createServer, isIP } from "node:net";
import { Runtime, type RuntimeOptions } from "@temporalio/worker";
import { type MetricsAddress, metricsAddress } from "../infra/stack/index.ts";

/** Seconds: from a short record to an update of a large model. */
const SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200];
/** Seconds of a sandbox: a small tree is linked in milliseconds, a large image takes a minute. */
const BOOT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60];

/** Another program may take the port that was just found free. */
const TRIES = 5;

function authority({ host, port }: MetricsAddress): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

function runtimeOptions(address: MetricsAddress | null): RuntimeOptions {
  const logging = { filter: "ERROR", forward: {} } as const;
  if (address === null) return { shutdownSignals: [], telemetryOptions: { logging } };
  const prometheus = {
    bindAddress: authority(address),
    countersTotalSuffix: true,
    unitSuffix: true,
    useSecondsForDurations: true,
    histogramBucketOverrides: {
      tadpole_activity: SECONDS,
      tadpole_update: SECONDS,
      tadpole_sandbox_boot: BOOT_SECONDS,
    },
  };
  return {
    shutdownSignals: [],
    telemetryOptions: { logging, metrics: { attachServiceName: false, prometheus } },
  };
}

function freePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen({ port: 0, host }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

/**
 * Installs the SDK's runtime of this process and returns the URL of its metrics, null without a port. A port that another program has
 * taken since it was chosen is no reason not to work: another one is used, and said.
 */
export async function installRuntime(env: NodeJS.ProcessEnv): Promise<string | null> {
  const wanted = metricsAddress(env);
  let address = wanted;
  for (let tries = 1; ; tries++) {
    try {
      Runtime.install(runtimeOptions(address));
      break;
    } catch (error) {
      if (address === null || tries === TRIES || !/in use/i.test((error as Error).message)) throw error;
      address = { host: address.host, port: await freePort(address.host) };
    }
  }
  if (address === null) return null;
  if (address.port !== wanted?.port)
    console.error(`metrics: port ${wanted?.port} is occupied by another program, ${address.port} is used`);
  return `http://${authority(address)}/metrics`;
}
