/**
 * One update, from the order to a folder that can be believed: joins the process that is at it, or starts one, and watches it. Whatever the process
 * says, the folder decides.
 */
import { rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { TrainerError } from "../errors.ts";
import type { TrainedFile, TrainerEvent, UpdateOrder } from "../protocol.ts";
import { connectTrainer, type TrainerConnection } from "./connection.ts";
import { diagnose, failure, recognise } from "./diagnosis.ts";
import {
  cutLog,
  endingOf,
  endProcess,
  findProcess,
  startProcess,
  type TrainerProcess,
  type Wanted,
} from "./session.ts";
import { outcomeOf } from "./trained.ts";
import { patience, REMEMBERED_STEPS, type WatchdogLimits } from "./watchdog.ts";

export interface Orders {
  readonly folder: string;
  readonly wanted: Wanted;
  readonly env: NodeJS.ProcessEnv;
  readonly limits: WatchdogLimits;
  /** Seconds of the last steps, of whichever update. */
  readonly steps: number[];
  /** Called while no process runs: what is left of others may go. */
  readonly tidy: (key: string) => Promise<void>;
}

type Progress = (done: number, total: number) => void;

/** Often enough for heartbeats, and to notice soon that nobody waits any more. */
const TELL_MS = 1000;
const LOOK_MS = 25;

/** A process that is gone has closed its socket a moment before the system says so. */
const ENDING_MS = 2000;

/** A connection may break where its process does not; more often than this it is the process. */
const CONNECTIONS = 3;

/** Of one process: months of a talkative one. */
const LOG_BYTES = 64 * 1024 * 1024;

/** Throws TrainerError; or what `progress` throws, and then the process goes on: whoever orders the same again finds it at work. */
export async function runOrder(orders: Orders, order: UpdateOrder, progress: Progress): Promise<TrainedFile> {
  progress(0, 0);
  const before = await outcomeOf(order.out, order.key);
  if (before.state === "whole") {
    progress(1, 1);
    return before.trained;
  }
  if (before.state === "broken") await rm(order.out, { recursive: true, force: true });
  await cutLog(orders.folder, LOG_BYTES);
  const watch = new Watch(orders, progress);
  try {
    await conclude(orders, order, watch);
  } finally {
    watch.close();
  }
  const after = await outcomeOf(order.out, order.key);
  if (after.state === "whole") return after.trained;
  const { log } = await endingOf(orders.folder);
  throw diagnose({ code: 0, log, broken: after.state === "broken" ? after.problem : null });
}

/** Returns when the process says that the update is made, or has made it. */
async function conclude(orders: Orders, order: UpdateOrder, watch: Watch): Promise<void> {
  try {
    for (let connections = 1; ; connections++) {
      const { process, connection } = await watch.orGivenUp(connectedFor(orders, order.key, watch));
      try {
        const said = await watch.orGivenUp(
          Promise.race([answer(connection, order, watch), connection.closed]),
        );
        if (said !== undefined) return await heed(orders, process, said);
      } finally {
        connection.close();
      }
      if (await gone(process)) return await bury(orders, process, order);
      if (connections >= CONNECTIONS)
        throw await ended(orders, process, "dead", `the trainer broke off ${connections} connections`);
    }
  } catch (error) {
    if (!(error instanceof Stalled)) throw error;
    throw await ended(orders, await findProcess(orders.folder), "stalled", error.message);
  }
}

/** A checkpoint that was finished counts, however its process ended then. */
async function bury(orders: Orders, process: TrainerProcess, order: UpdateOrder): Promise<void> {
  await endProcess(process);
  if ((await outcomeOf(order.out, order.key)).state === "whole") return;
  throw diagnose({ ...(await endingOf(orders.folder)), broken: null });
}

async function gone(process: TrainerProcess): Promise<boolean> {
  const deadline = Date.now() + ENDING_MS;
  while (process.running() && Date.now() < deadline) await sleep(LOOK_MS);
  return !process.running();
}

async function ended(
  { folder }: Orders,
  process: TrainerProcess | null,
  kind: "stalled" | "dead",
  message: string,
): Promise<TrainerError> {
  if (process !== null) await endProcess(process);
  return failure(kind, message, (await endingOf(folder)).log);
}

type Said = Extract<TrainerEvent, { event: "done" | "failed" }>;

function answer(connection: TrainerConnection, order: UpdateOrder, watch: Watch): Promise<Said> {
  return new Promise((resolve) => {
    connection.send({ op: "update", ...order }, (event) => {
      if (event.event === "progress") watch.note(event.done, event.total);
      else if (event.event !== "hello") resolve(event);
    });
  });
}

/** What is wrong with the batch or the model says the trainer itself; after any other failure a fresh process is better than one that saw it. */
async function heed(orders: Orders, process: TrainerProcess, said: Said): Promise<void> {
  if (said.event === "done") return;
  const { kind, message } = said;
  if (kind === "batch" || kind === "model" || kind === "diverged" || kind === "disk")
    throw new TrainerError(kind, message);
  await endProcess(process);
  const { log } = await endingOf(orders.folder);
  throw failure(kind === "internal" ? (recognise(message)?.kind ?? "dead") : kind, message, log);
}

/** A connection to a process that is idle, or at this very update. */
async function connectedFor(
  orders: Orders,
  key: string,
  watch: Watch,
): Promise<{ process: TrainerProcess; connection: TrainerConnection }> {
  const found = await findProcess(orders.folder);
  if (found !== null) {
    const connection = isWanted(found, orders.wanted) ? await listening(found, watch) : null;
    const busy = connection === null ? "another session" : await busyWith(connection);
    if (connection !== null && (busy === null || busy === key)) return { process: found, connection };
    // Nobody waits for what it is at: a session has one worker, and a worker one update.
    connection?.close();
    await endProcess(found);
  }
  await orders.tidy(key);
  const process = await startProcess(orders.folder, orders.wanted, orders.env);
  const connection = await listening(process, watch);
  if (connection !== null) return { process, connection };
  await endProcess(process);
  const { code, log } = await endingOf(orders.folder);
  // Whatever it did, it was not asked to train yet: exit code 0 is as dead as any.
  const kind = recognise(log)?.kind ?? "dead";
  throw failure(kind, `the trainer did not start (exit code ${code ?? "unknown"})`, log);
}

function isWanted({ launch }: TrainerProcess, { command, session }: Wanted): boolean {
  return JSON.stringify([launch.command, launch.session]) === JSON.stringify([command, session]);
}

/** Null where the process ended. */
async function listening(process: TrainerProcess, watch: Watch): Promise<TrainerConnection | null> {
  while (process.running()) {
    const session = await process.session();
    const connection = session === null ? null : await connectTrainer(session);
    if (watch.isOver) connection?.close();
    watch.throwIfOver();
    if (connection !== null) return connection;
    await sleep(LOOK_MS);
  }
  return null;
}

/** Key of the update that the process is at; null where it is idle, or says why it cannot work: it says so again when it is asked to. */
function busyWith(connection: TrainerConnection): Promise<string | null> {
  const asked = new Promise<string | null>((resolve) => {
    connection.send({ op: "hello" }, (event) => resolve(event.event === "hello" ? event.busy : null));
  });
  return Promise.race([asked, connection.closed.then(() => "nothing it says")]);
}

class Stalled extends Error {}

/** Progress that is told on, again and again, so that whoever waits can give up; and its absence. */
class Watch {
  readonly #orders: Orders;
  readonly #progress: Progress;
  readonly #timer: NodeJS.Timeout;
  readonly #over = Promise.withResolvers<never>();
  #done = 0;
  #total = 0;
  #since = performance.now();
  #end: { readonly reason: unknown } | null = null;

  constructor(orders: Orders, progress: Progress) {
    this.#orders = orders;
    this.#progress = progress;
    // Nobody may be waiting when it is rejected.
    this.#over.promise.catch(() => {});
    this.#timer = setInterval(() => this.#look(), Math.min(TELL_MS, orders.limits.leastSeconds * 250));
  }

  note(done: number, total: number): void {
    const now = performance.now();
    const { steps } = this.#orders;
    // The first step holds the loading of the weights.
    if (this.#done > 0 && done > this.#done) steps.push((now - this.#since) / 1000);
    if (steps.length > REMEMBERED_STEPS) steps.shift();
    this.#since = now;
    this.#done = done;
    this.#total = total;
    this.#tell();
  }

  /** `work`, or the end of waiting for it. */
  orGivenUp<T>(work: Promise<T>): Promise<T> {
    work.catch(() => {});
    return Promise.race([work, this.#over.promise]);
  }

  get isOver(): boolean {
    return this.#end !== null;
  }

  throwIfOver(): void {
    if (this.#end !== null) throw this.#end.reason;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #tell(): void {
    try {
      this.#progress(this.#done, this.#total);
    } catch (error) {
      this.#giveUp(error);
    }
  }

  #look(): void {
    this.#tell();
    const silent = (performance.now() - this.#since) / 1000;
    const most = patience({ done: this.#done, total: this.#total }, this.#orders.steps, this.#orders.limits);
    if (silent > most)
      this.#giveUp(
        new Stalled(
          `the trainer told no progress for ${Math.round(silent)} s, after ${this.#done} of ${this.#total} rows; at most ${Math.round(most)} s were expected`,
        ),
      );
  }

  #giveUp(reason: unknown): void {
    this.#end = { reason };
    clearInterval(this.#timer);
    this.#over.reject(reason);
  }
}
