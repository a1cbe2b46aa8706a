/** What the environment asks of a stack, and whether a running one is what it asks for. */
import { resolve } from "node:path";
import { StackError } from "./errors.ts";
import { givenPorts, type PortName } from "./ports.ts";
import { embeddedUrl, queryOnce } from "./postgres.ts";
import { ensureSearchAttributes } from "./search-attributes.ts";
import type { StackState, TemporalSettings } from "./state.ts";
import { connectTemporal, temporalFromEnv } from "./temporal.ts";
import { metricsHost, type WorkerVersioning, workerVersioning } from "./worker-settings.ts";

export interface StackSettings {
  /** Null: the stack runs its own. */
  readonly temporal: TemporalSettings | null;
  readonly databaseUrl: string | null;
  readonly ports: Partial<Record<PortName, number>>;
  readonly versioning: WorkerVersioning | null;
}

/** Sandboxes of a few rollouts, a batch and Postgres' log find room in this. */
const defaultMinFreeMb = 512;

const defaultImageCacheMb = 20 * 1024;

/** MiB of free disk below which workers begin nothing and hold their experiments. Throws StackError `settings`. */
export function minFreeMb(env: NodeJS.ProcessEnv = process.env): number {
  return megabytes(env, "TADPOLE_MIN_FREE_MB", defaultMinFreeMb);
}

/** MiB that images may take which Tadpole brought to a sandbox host. Throws StackError `settings`. */
export function imageCacheMb(env: NodeJS.ProcessEnv = process.env): number {
  return megabytes(env, "TADPOLE_IMAGE_CACHE_MB", defaultImageCacheMb);
}

/**
 * What everything that makes, lists or removes sandboxes or their images on this machine agrees on (`HostOptions` of services/sandbox).
 * Throws StackError `settings`.
 */
export const hostOptions = (dataFolder: string, env: NodeJS.ProcessEnv = process.env) => ({
  dataFolder: resolve(dataFolder),
  nodePath: process.execPath,
  minFreeMb: minFreeMb(env),
  imageCacheMb: imageCacheMb(env),
});

function megabytes(env: NodeJS.ProcessEnv, name: string, otherwise: number): number {
  const text = env[name] || String(otherwise);
  if (!/^\d{1,9}$/.test(text))
    throw new StackError("settings", `${name}: expected a whole number of MB, got "${text}"`);
  return Number(text);
}

/** Throws StackError `settings` naming the variable. */
export function stackSettings(env: NodeJS.ProcessEnv = process.env): StackSettings {
  minFreeMb(env);
  imageCacheMb(env);
  metricsHost(env);
  const databaseUrl = env.DATABASE_URL || null;
  if (databaseUrl && !/^postgres(ql)?:\/\//.test(databaseUrl))
    throw new StackError("settings", "DATABASE_URL: expected postgresql://USER:PASSWORD@HOST:PORT/DATABASE");
  return {
    temporal: temporalFromEnv(env),
    databaseUrl,
    ports: givenPorts(env),
    versioning: workerVersioning(env),
  };
}

/** Servers that run elsewhere must answer, and take what workflows need, before anything is started for them. */
export async function checkExternal(settings: StackSettings): Promise<void> {
  if (settings.temporal) {
    const { connection } = await connectTemporal(settings.temporal);
    await ensureSearchAttributes(connection, settings.temporal).finally(() => connection.close());
  }
  if (!settings.databaseUrl) return;
  const { host, database } = describeDatabase(settings.databaseUrl);
  await queryOnce(settings.databaseUrl, "select 1").catch((error: Error) => {
    const message = `DATABASE_URL: Postgres at ${host}/${database} does not answer (${error.message || (error as NodeJS.ErrnoException).code})`;
    throw new StackError("unreachable", message, { cause: error });
  });
}

/** Host and database of a URL; its password stays out of state, logs and messages. */
export function describeDatabase(url: string): { readonly host: string; readonly database: string } {
  try {
    const { host, pathname } = new URL(url);
    return { host, database: pathname.slice(1) };
  } catch {
    throw new StackError("settings", "DATABASE_URL: expected postgresql://USER:PASSWORD@HOST:PORT/DATABASE");
  }
}

/** Throws StackError `settings` when the environment asks for something else than what already runs. */
export function checkAgainstRunning(state: StackState, settings: StackSettings): void {
  const mend = "run tadpole down first, or unset the variable";
  const { temporal, databaseUrl, ports } = settings;
  if (
    temporal &&
    (temporal.address !== state.temporal.address || temporal.namespace !== state.temporal.namespace)
  )
    throw new StackError(
      "settings",
      `TEMPORAL_ADDRESS: the running stack uses ${state.temporal.address} (namespace ${state.temporal.namespace}), not ${temporal.address} (namespace ${temporal.namespace}); ${mend}`,
    );
  if (databaseUrl) {
    const { host, database } = describeDatabase(databaseUrl);
    if (host !== state.postgres.host || database !== state.postgres.database)
      throw new StackError(
        "settings",
        `DATABASE_URL: the running stack uses ${state.postgres.host}/${state.postgres.database}, not ${host}/${database}; ${mend}`,
      );
  }
  if (settings.versioning && settings.versioning !== state.versioning)
    throw new StackError(
      "settings",
      `TADPOLE_WORKER_VERSIONING: the workers of the running stack have ${state.versioning ?? "no versions"}, not ${settings.versioning}; ${mend}`,
    );
  for (const [name, port] of Object.entries(ports) as [PortName, number][])
    if (state.ports[name] !== port)
      throw new StackError(
        "settings",
        `port ${port} is asked for, but ${name} of the running stack listens on ${state.ports[name]}; ${mend}`,
      );
}

/** The record's address. Throws when the stack was started with a DATABASE_URL that this process lacks. */
export function databaseUrl(state: StackState, env: NodeJS.ProcessEnv = process.env): string {
  if (!state.postgres.external) return embeddedUrl(state.dataFolder, state.ports.postgres);
  if (env.DATABASE_URL) return env.DATABASE_URL;
  throw new StackError(
    "settings",
    `DATABASE_URL: this stack's Postgres is ${state.postgres.host}/${state.postgres.database}; set the variable to reach it`,
  );
}
