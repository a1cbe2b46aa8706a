/** The table of the stack's processes: what each needs, how it starts, when it is ready, how it stops. */
import { join } from "node:path";
import { StackError } from "./errors.ts";
import { packageRoot, stackFiles } from "./paths.ts";
import type { Ports } from "./ports.ts";
import { createDatabase, embeddedUrl, postgresCommand, preparePostgres, queryOnce } from "./postgres.ts";
import type { StopStep } from "./proc.ts";
import { makeSearchAttributes } from "./search-attributes.ts";
import type { StackSettings } from "./settings.ts";
import { type ProcessName, processNames } from "./state.ts";
import { defaultNamespace, namespaceUrl, temporalCommand } from "./temporal.ts";

export interface ProcessCommand {
  readonly file: string;
  readonly args: readonly string[];
}

export interface ProcessDefinition {
  readonly name: ProcessName;
  /** Must be ready first. */
  readonly needs: readonly ProcessName[];
  /** Set when this process does not run here. */
  readonly absent: "external" | "skipped" | null;
  /** A part of its command line that no other process has. */
  readonly mark: string;
  /** Runs before each start. */
  prepare?(): Promise<void>;
  command(): Promise<ProcessCommand>;
  readonly env: Readonly<Record<string, string>>;
  /** Ready when the process says so by an IPC message, or else when `probe` first succeeds. */
  readonly readyBy: "message" | "probe";
  /** Also asked while it runs; throws when the process does not serve. */
  probe?(): Promise<void>;
  afterReady?(): Promise<void>;
  /** Where it serves metrics, unless its ready message says otherwise. */
  readonly metricsUrl?: string;
  /** How long it may take to become ready. */
  readonly startSeconds: number;
  readonly stop: readonly StopStep[];
}

export interface StackContext {
  readonly folder: string;
  readonly ports: Ports;
  readonly settings: StackSettings;
  readonly env: NodeJS.ProcessEnv;
}

/** Every process of a stack carries its data folder in this variable, so that none can be lost. */
export const stackMark = "TADPOLE_STACK";

/** A comma-separated list: only these processes run, the others are skipped. Unset: all of them. */
const onlyVariable = "TADPOLE_STACK_ONLY";

/** What each child finds in its environment, beside the caller's own. */
export function childEnvironment({ folder, ports, settings }: StackContext): Record<string, string> {
  return {
    [stackMark]: folder,
    TADPOLE_DATA: folder,
    DATABASE_URL: settings.databaseUrl ?? embeddedUrl(folder, ports.postgres),
    TEMPORAL_ADDRESS: settings.temporal?.address ?? `127.0.0.1:${ports.temporal}`,
    TEMPORAL_NAMESPACE: settings.temporal?.namespace ?? defaultNamespace,
    TADPOLE_POLICY_URL: policyUrl(ports),
    TADPOLE_POLICY_PORT: String(ports.policy),
  };
}

export function policyUrl(ports: Ports): string {
  return `http://127.0.0.1:${ports.policy}`;
}

export function processTable(context: StackContext): readonly ProcessDefinition[] {
  const only = context.env[onlyVariable];
  const names = only ? only.split(",").map((name) => name.trim()) : processNames;
  const unknown = names.find((name) => !(processNames as readonly string[]).includes(name));
  if (unknown !== undefined)
    throw new StackError(
      "settings",
      `${onlyVariable}: expected names of ${processNames.join(", ")}; got "${unknown}"`,
    );
  return [
    temporal(context),
    postgres(context),
    policy(context),
    worker(context, "orchestrate"),
    worker(context, "sandbox"),
    worker(context, "gpu"),
  ].map((definition) =>
    names.includes(definition.name) ? definition : { ...definition, absent: definition.absent ?? "skipped" },
  );
}

function temporal({ folder, ports, settings, env }: StackContext): ProcessDefinition {
  return {
    name: "temporal",
    needs: [],
    absent: settings.temporal ? "external" : null,
    mark: stackFiles(folder).temporalDatabase,
    command: async () => temporalCommand(folder, ports, env),
    // Nothing of the caller's Temporal settings may turn the server into a client of another one.
    env: { TEMPORAL_ADDRESS: "", TEMPORAL_NAMESPACE: "" },
    readyBy: "probe",
    probe: () => httpProbe(namespaceUrl(ports), (status) => status === 200),
    afterReady: () => makeSearchAttributes(ports, env),
    metricsUrl: `http://127.0.0.1:${ports.temporalMetrics}/metrics`,
    startSeconds: 60,
    stop: [{ signal: "SIGTERM", graceSeconds: 15 }],
  };
}

function postgres({ folder, ports, settings }: StackContext): ProcessDefinition {
  return {
    name: "postgres",
    needs: [],
    absent: settings.databaseUrl ? "external" : null,
    mark: stackFiles(folder).postgres,
    prepare: () => preparePostgres(folder),
    command: () => postgresCommand(folder, ports.postgres),
    // Its messages are kept and shown; they should read the same on every machine.
    env: { LC_ALL: "C" },
    readyBy: "probe",
    probe: async () => {
      await queryOnce(embeddedUrl(folder, ports.postgres, "postgres"), "select 1");
    },
    afterReady: () => createDatabase(folder, ports.postgres),
    startSeconds: 60,
    // SIGINT ends open sessions, SIGQUIT leaves the rest to recovery.
    stop: [
      { signal: "SIGINT", graceSeconds: 15 },
      { signal: "SIGQUIT", graceSeconds: 5 },
    ],
  };
}

function policy(context: StackContext): ProcessDefinition {
  return {
    ...nodeProcess(context, "policy", ["postgres", "temporal"]),
    // Any answer shows that it serves; which routes it has is its own affair.
    probe: () => httpProbe(`${policyUrl(context.ports)}/health`, (status) => status < 500),
  };
}

function worker(context: StackContext, name: "orchestrate" | "sandbox" | "gpu"): ProcessDefinition {
  const definition = nodeProcess(context, name, ["temporal", "postgres", "policy"]);
  return {
    ...definition,
    env: { ...definition.env, TADPOLE_METRICS_PORT: String(context.ports[`${name}Metrics`]) },
    // A worker that is stopped cancels its activities, which then have to wind up their sandboxes.
    stop: [{ signal: "SIGTERM", graceSeconds: 15 }],
  };
}

/**
 * A laptop runs four of these beside everything else. Left alone, V8 lets short-lived garbage grow to several times what is in use, and
 * malloc keeps an arena per thread.
 */
export const MEMORY_FLAGS = [
  "--max-semi-space-size=4",
  "--max-old-space-size=1024",
  "--heap-growing-percent=25",
];

/** `workers/<name>.ts`, run by this Node. */
function nodeProcess(
  { folder }: StackContext,
  name: ProcessName,
  needs: readonly ProcessName[],
): ProcessDefinition {
  const entry = join(packageRoot, "workers", `${name}.ts`);
  return {
    name,
    needs,
    absent: null,
    // The argument names the data folder: two stacks run the same file.
    mark: `${entry} ${folder}`,
    command: async () => ({ file: process.execPath, args: [...MEMORY_FLAGS, entry, folder] }),
    env: { MALLOC_ARENA_MAX: "2" },
    readyBy: "message",
    startSeconds: 120,
    stop: [{ signal: "SIGTERM", graceSeconds: 10 }],
  };
}

async function httpProbe(url: string, healthy: (status: number) => boolean): Promise<void> {
  const reply = await fetch(url, { signal: AbortSignal.timeout(10_000) });
  await reply.arrayBuffer();
  if (!healthy(reply.status)) throw new Error(`${url} answered ${reply.status}`);
}
