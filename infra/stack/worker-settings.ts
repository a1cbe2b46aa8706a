/** What the environment asks of worker processes alone. */
import { isIP } from "node:net";
import { StackError } from "./errors.ts";

/** Which code a running workflow goes on with (docs/upgrading.md); null: whichever worker takes its next task. */
export type WorkerVersioning = "auto" | "pinned";

export interface MetricsAddress {
  readonly host: string;
  readonly port: number;
}

/** Throws StackError `settings`. */
export function workerVersioning(env: NodeJS.ProcessEnv): WorkerVersioning | null {
  const value = env.TADPOLE_WORKER_VERSIONING;
  if (!value) return null;
  if (value !== "auto" && value !== "pinned")
    throw new StackError(
      "settings",
      `TADPOLE_WORKER_VERSIONING: expected auto, pinned or nothing, got "${value}"`,
    );
  return value;
}

/** Where workers serve their metrics: the loopback unless it is given. Throws StackError `settings`. */
export function metricsHost(env: NodeJS.ProcessEnv): string {
  const host = env.TADPOLE_METRICS_HOST || "127.0.0.1";
  if (isIP(host) === 0)
    throw new StackError(
      "settings",
      `TADPOLE_METRICS_HOST: expected an IP address such as 127.0.0.1 or 0.0.0.0, got "${host}"`,
    );
  return host;
}

/** Null without a port: no endpoint then. Throws StackError `settings`. */
export function metricsAddress(env: NodeJS.ProcessEnv): MetricsAddress | null {
  const text = env.TADPOLE_METRICS_PORT;
  if (!text) return null;
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65535)
    throw new StackError(
      "settings",
      `TADPOLE_METRICS_PORT: expected a port number from 1 to 65535, got "${text}"`,
    );
  return { host: metricsHost(env), port };
}
