/** One supervised process: start, readiness, health, restart with backoff, giving up, stop. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { ProcessLog } from "./logs.ts";
import { packageRoot } from "./paths.ts";
import { identify, type ProcessIdentity, terminate, treeCpuSeconds } from "./proc.ts";
import type { ProcessDefinition } from "./processes.ts";
import type { ProcessPhase, ProcessState } from "./state.ts";

/** Doubles from the first to the last; short, because a run waits meanwhile. */
const firstDelaySeconds = 0.25;
const lastDelaySeconds = 15;

/** A process that was ready for this long starts again with a clean record. */
const provenSeconds = 30;

/**
 * After so many failures in a row without being proven it is left alone, with the reason in the state. What others did to it is no
 * failure of its own: SIGKILL while it served (a person, the kernel short of memory), or an end while something it needs was away.
 */
export const failuresUntilGivenUp = 6;

/** A busy machine is slow to answer; only several unanswered probes in a row count as a hang. */
const probeEverySeconds = 10;
const missedProbesUntilRestart = 6;

/** How often a process that must wait looks again. */
const waitMilliseconds = 100;

/** Seconds to wait before the next start after `failures` failures in a row. */
export function backoffSeconds(failures: number): number {
  return Math.min(lastDelaySeconds, firstDelaySeconds * 2 ** (failures - 1));
}

/** How one incarnation ended. */
interface Ending {
  readonly reason: string;
  /** It did nothing wrong: others ended it. */
  readonly blameless: boolean;
}

interface Running {
  readonly process: ChildProcess;
  readonly identity: ProcessIdentity | null;
  readonly startedAt: number;
  readonly ended: Promise<string>;
  /** Its own supervisor is ending it. */
  ending: boolean;
}

export class SupervisedProcess {
  readonly definition: ProcessDefinition;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #log: ProcessLog;
  readonly #logger: Logger;
  readonly #changed: () => void;
  readonly #needsServe: () => boolean;
  readonly #heldDownBy: string | null;
  #phase: ProcessPhase = "waiting";
  #running: Running | null = null;
  #stopping = new AbortController();
  #loop: Promise<void> | null = null;
  #starts = 0;
  #failures = 0;
  #problem: string | null = null;
  #metricsUrl: string | null = null;
  #cpuPast: number;
  #cpuNow = 0;

  constructor(options: {
    definition: ProcessDefinition;
    environment: NodeJS.ProcessEnv;
    log: ProcessLog;
    logger: Logger;
    cpuPastSeconds: number;
    changed: () => void;
    /** Whether what it needs serves; it does not start again before. Default: always. */
    needsServe?: () => boolean;
    /** While this file exists the process is not started. */
    heldDownBy?: string;
  }) {
    this.definition = options.definition;
    this.#environment = options.environment;
    this.#log = options.log;
    this.#logger = options.logger;
    this.#cpuPast = options.cpuPastSeconds;
    this.#changed = options.changed;
    this.#needsServe = options.needsServe ?? (() => true);
    this.#heldDownBy = options.heldDownBy ?? null;
    if (options.definition.absent) this.#phase = options.definition.absent;
  }

  get settled(): boolean {
    return this.#phase !== "waiting" && this.#phase !== "starting" && this.#phase !== "backoff";
  }

  get ready(): boolean {
    return this.#phase === "ready" || this.#phase === "external" || this.#phase === "skipped";
  }

  get phase(): ProcessPhase {
    return this.#phase;
  }

  state(): ProcessState {
    return {
      name: this.definition.name,
      phase: this.#phase,
      identity: this.#running?.identity ?? null,
      restarts: Math.max(0, this.#starts - 1),
      cpuPastSeconds: this.#cpuPast,
      cpuSeconds: this.#cpuPast + this.#cpuNow,
      problem: this.#problem,
      metricsUrl: this.#phase === "ready" ? this.#metricsUrl : null,
      log: this.#log.file,
    };
  }

  sample(): void {
    const pid = this.#running?.identity?.pid;
    // Never below the last sample: a descendant that was not waited for takes its seconds with it.
    if (pid !== undefined) this.#cpuNow = Math.max(this.#cpuNow, treeCpuSeconds(pid));
  }

  /** Begins, or begins again after having given up. */
  start(): void {
    if (this.definition.absent || (this.#loop && this.#phase !== "failed")) return;
    this.#failures = 0;
    this.#loop = this.#supervise(this.#stopping.signal);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    const running = this.#running;
    const identity = running?.identity;
    if (running) running.ending = true;
    if (identity && !(await terminate(identity, this.definition.stop)))
      this.#logger.error({ process: this.definition.name, pid: identity.pid }, "does not end");
    await this.#loop;
    if (!this.definition.absent) this.#enter("stopped");
  }

  #enter(phase: ProcessPhase, problem: string | null = this.#problem): void {
    if (phase !== this.#phase || problem !== this.#problem)
      this.#logger.info({ process: this.definition.name, phase, problem: problem ?? undefined }, "phase");
    this.#phase = phase;
    this.#problem = problem;
    this.#changed();
  }

  async #supervise(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      await this.#untilAllowed(stopping);
      const { reason, blameless } = await this.#runOnce(stopping).catch(
        (error: Error): Ending => ({ reason: error.message, blameless: false }),
      );
      if (stopping.aborted) return;
      if (!blameless) this.#failures += 1;
      const problem = [reason, ...this.#log.lastLines()].join("\n");
      if (this.#failures >= failuresUntilGivenUp) {
        return this.#enter("failed", `given up after ${this.#failures} failures: ${problem}`);
      }
      this.#enter("backoff", problem);
      await sleep(backoffSeconds(Math.max(1, this.#failures)) * 1000, undefined, { signal: stopping }).catch(
        () => {},
      );
    }
  }

  /** Waits while the process is held down, or while what it needs is away: starting would be a failure that is not its own. */
  async #untilAllowed(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      const held = this.#heldDownBy !== null && existsSync(this.#heldDownBy);
      if (!held && this.#needsServe()) return;
      const problem = held ? `held down by ${this.#heldDownBy}` : "waits for what it needs";
      if (problem !== this.#problem) this.#enter("backoff", problem);
      await sleep(waitMilliseconds, undefined, { signal: stopping }).catch(() => {});
    }
  }

  /** Resolves when the process has ended. */
  async #runOnce(stopping: AbortSignal): Promise<Ending> {
    this.#enter("starting");
    await this.definition.prepare?.();
    const command = await this.definition.command();
    if (stopping.aborted) return { reason: "stopped", blameless: true };
    const running = this.#spawn(command.file, command.args);
    this.#running = running;
    this.#metricsUrl = this.definition.metricsUrl ?? null;
    this.#starts += 1;
    this.#changed();
    const unready = await this.#untilReady(running);
    if (unready !== null) {
      // Asked now: what it needs may serve again once this one has wound up.
      const blameless = !this.#needsServe();
      await this.#end(running);
      return { reason: unready, blameless };
    }
    this.#enter("ready", null);
    const readyAt = Date.now();
    const reason = await this.#whileHealthy(running);
    const killed = running.process.signalCode === "SIGKILL" && !running.ending;
    const blameless = killed || !this.#needsServe();
    if (Date.now() - readyAt > provenSeconds * 1000) this.#failures = 0;
    return { reason, blameless };
  }

  async #end(running: Running): Promise<void> {
    running.ending = true;
    if (running.identity) await terminate(running.identity, this.definition.stop);
    await running.ended;
  }

  #spawn(file: string, args: readonly string[]): Running {
    const ipc = this.definition.readyBy === "message";
    const child = spawn(file, args, {
      cwd: packageRoot,
      env: { ...this.#environment, ...this.definition.env },
      stdio: ["ignore", "pipe", "pipe", ...(ipc ? (["ipc"] as const) : [])],
    });
    child.stdout?.on("data", (bytes: Buffer) => this.#log.write(bytes));
    child.stderr?.on("data", (bytes: Buffer) => this.#log.write(bytes));
    // `exit`, not `close`: a grandchild that keeps the pipe open must not hide that the process is gone.
    const ended = new Promise<string>((resolve) => {
      child.once("error", (error) => resolve(`${file}: ${error.message}`));
      child.once("exit", (code, signal) =>
        resolve(signal ? `ended by ${signal}` : `ended with exit code ${code}`),
      );
    });
    ended.then(() => {
      this.#cpuPast += this.#cpuNow;
      this.#cpuNow = 0;
      this.#running = null;
      this.#changed();
    });
    const identity = child.pid === undefined ? null : identify(child.pid, this.definition.mark);
    return { process: child, identity, startedAt: Date.now(), ended, ending: false };
  }

  /** Null once ready, else why not. */
  async #untilReady(running: Running): Promise<string | null> {
    const limit = this.definition.startSeconds * 1000;
    const timeout = new AbortController();
    const late = sleep(limit, `not ready after ${limit / 1000} s`, { signal: timeout.signal }).catch(
      () => null,
    );
    const ready =
      this.definition.readyBy === "message" ? this.#readyMessage(running.process) : this.#probing(running);
    const first = await Promise.race([ready.then(() => null), running.ended, late]);
    timeout.abort();
    if (first !== null) return first;
    return (
      (await this.definition.afterReady?.().then(
        () => null,
        (error: Error) => error.message,
      )) ?? null
    );
  }

  /** `{ ready: true, metrics?: URL }`. */
  #readyMessage(child: ChildProcess): Promise<void> {
    return new Promise((resolve) => {
      child.on("message", (message: unknown) => {
        if (typeof message !== "object" || message === null || !("ready" in message) || !message.ready)
          return;
        if ("metrics" in message && typeof message.metrics === "string") this.#metricsUrl = message.metrics;
        resolve();
      });
    });
  }

  async #probing(running: Running): Promise<void> {
    while (running.process.exitCode === null && running.process.signalCode === null) {
      try {
        return await this.definition.probe?.();
      } catch {
        await sleep(100);
      }
    }
    await new Promise<never>(() => {});
  }

  /** Resolves with the reason when the process ends or was ended because it no longer answered. */
  async #whileHealthy(running: Running): Promise<string> {
    const watch = new AbortController();
    const hung = this.#watch(running, watch.signal);
    const reason = await Promise.race([running.ended, hung]);
    watch.abort();
    await running.ended;
    return reason;
  }

  async #watch(running: Running, signal: AbortSignal): Promise<string> {
    let missed = 0;
    while (this.definition.probe && missed < missedProbesUntilRestart) {
      await sleep(probeEverySeconds * 1000, undefined, { signal }).catch(() => {});
      if (signal.aborted) break;
      missed = await this.definition.probe().then(
        () => 0,
        () => missed + 1,
      );
    }
    if (missed < missedProbesUntilRestart) return new Promise<never>(() => {});
    await this.#end(running);
    return `did not answer ${missed} times in a row`;
  }
}
