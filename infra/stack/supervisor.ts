/**
 * The stack's daemon: `node infra/stack/supervisor.ts DATA_FOLDER`. It holds the folder's lock, ends what an earlier one left,
 * starts the processes of the table in the order of their needs, keeps them running and keeps `stack.json` true.
 * SIGTERM stops everything; SIGHUP starts again what was given up.
 */
import pino, { type Logger } from "pino";
import { SupervisedProcess } from "./child.ts";
import { endLeftovers } from "./cleanup.ts";
import { prepareDataFolder } from "./data-folder.ts";
import { StackError } from "./errors.ts";
import { takeLock } from "./lock.ts";
import { ProcessLog } from "./logs.ts";
import { heldDownFile, lockHeldExitCode, supervisorMark } from "./paths.ts";
import { stackPorts } from "./ports.ts";
import { postgresDatabase } from "./postgres.ts";
import { bootId, identify } from "./proc.ts";
import { childEnvironment, policyUrl, processTable, type StackContext } from "./processes.ts";
import { describeDatabase, stackSettings } from "./settings.ts";
import type { ProcessName, StackState } from "./state.ts";
import { processNames, readStack, writeState } from "./state.ts";
import { defaultNamespace } from "./temporal.ts";

/** How much CPU time at most is missing from the account after a SIGKILL. */
const sampleEverySeconds = 3;

class Supervisor {
  readonly #context: StackContext;
  readonly #logger: Logger;
  readonly #logs: readonly ProcessLog[];
  readonly #children: ReadonlyMap<ProcessName, SupervisedProcess>;
  readonly #previous: StackState | null;
  readonly #startedAt = new Date().toISOString();
  #phase: StackState["phase"] = "starting";

  constructor(context: StackContext, previous: StackState | null, logger: Logger, log: ProcessLog) {
    this.#context = context;
    this.#previous = previous;
    this.#logger = logger;
    const logs = new Map(processNames.map((name) => [name, new ProcessLog(context.folder, name)]));
    this.#logs = [log, ...logs.values()];
    const environment = { ...context.env, ...childEnvironment(context) };
    this.#children = new Map(
      processTable(context).map((definition) => [
        definition.name,
        new SupervisedProcess({
          definition,
          environment,
          log: logs.get(definition.name)!,
          logger,
          cpuPastSeconds: previous?.processes.find(({ name }) => name === definition.name)?.cpuSeconds ?? 0,
          changed: () => this.#changed(),
          needsServe: () => this.#ready(definition.needs),
          heldDownBy: heldDownFile(context.folder, definition.name),
        }),
      ]),
    );
  }

  run(): void {
    this.#save();
    setInterval(() => {
      for (const child of this.#children.values()) child.sample();
      this.#save();
    }, sampleEverySeconds * 1000);
    this.#startWhatCan();
  }

  retryGivenUp(): void {
    for (const child of this.#children.values()) if (child.phase === "failed") child.start();
  }

  /** Those that need others stop before those they need. */
  async stop(): Promise<void> {
    if (this.#phase === "stopping") return;
    this.#phase = "stopping";
    for (const child of this.#children.values()) child.sample();
    this.#save();
    this.#logger.info("stopping");
    const left = new Map(this.#children);
    while (left.size > 0) {
      const needed = new Set([...left.values()].flatMap((child) => child.definition.needs));
      const next = [...left.keys()].filter((name) => !needed.has(name));
      await Promise.all(next.map((name) => left.get(name)?.stop()));
      for (const name of next) left.delete(name);
    }
    await endLeftovers(this.#context.folder, null);
    this.#phase = "stopped";
    this.#save();
    this.#logger.info("stopped");
    await Promise.all(this.#logs.map((log) => log.close()));
  }

  #changed(): void {
    if (this.#phase === "starting" && [...this.#children.values()].every((child) => child.ready)) {
      this.#phase = "running";
      this.#logger.info("running");
    }
    this.#save();
    if (this.#phase === "starting") this.#startWhatCan();
  }

  #startWhatCan(): void {
    for (const child of this.#children.values()) {
      if (child.phase === "waiting" && this.#ready(child.definition.needs)) child.start();
    }
  }

  #ready(names: readonly ProcessName[]): boolean {
    return names.every((name) => this.#children.get(name)?.ready);
  }

  #save(): void {
    try {
      writeState(this.#state());
    } catch (error) {
      // A full disk: the processes live on, the next change tries again.
      this.#logger.error({ error: (error as Error).message }, "state not written");
    }
  }

  #state(): StackState {
    const { folder, ports, settings } = this.#context;
    const local = {
      address: `127.0.0.1:${ports.temporal}`,
      namespace: defaultNamespace,
      apiKeyVariable: null,
      tls: null,
    };
    const embedded = { host: `127.0.0.1:${ports.postgres}`, database: postgresDatabase };
    return {
      dataFolder: folder,
      bootId: bootId(),
      supervisor: identify(process.pid, supervisorMark(folder))!,
      supervisorCpuSeconds: (this.#previous?.supervisorCpuSeconds ?? 0) + ownCpuSeconds(),
      phase: this.#phase,
      startedAt: this.#startedAt,
      ports,
      temporal: {
        ...(settings.temporal ?? local),
        external: settings.temporal !== null,
        ui: settings.temporal ? null : `http://127.0.0.1:${ports.temporalUi}`,
      },
      postgres: {
        ...(settings.databaseUrl ? describeDatabase(settings.databaseUrl) : embedded),
        external: settings.databaseUrl !== null,
      },
      policyUrl: policyUrl(ports),
      versioning: settings.versioning,
      processes: [...this.#children.values()].map((child) => child.state()),
    };
  }
}

/** Without the children it has waited for: they have accounts of their own. */
function ownCpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

async function main(given: string): Promise<void> {
  const folder = prepareDataFolder(given);
  const lock = await takeLock(folder);
  if (!lock) process.exit(lockHeldExitCode);
  const log = new ProcessLog(folder, "supervisor");
  const logger = pino({ base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime }, log);
  const previous = readStack(folder);
  const ended = await endLeftovers(folder, previous);
  if (ended > 0) logger.warn({ ended }, "ended processes of an earlier supervisor");
  const settings = stackSettings(process.env);
  const ports = await stackPorts(folder, process.env, previous?.ports ?? null);
  const supervisor = new Supervisor({ folder, ports, settings, env: process.env }, previous, logger, log);
  const stop = () => void supervisor.stop().then(() => process.exit(0));
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  process.on("SIGHUP", () => supervisor.retryGivenUp());
  logger.info({ ports }, "starting");
  supervisor.run();
}

main(process.argv[2] ?? "").catch((error: Error) => {
  process.stderr.write(`${error instanceof StackError ? error.message : (error.stack ?? error)}\n`);
  process.exit(1);
});
