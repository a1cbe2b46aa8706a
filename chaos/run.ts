/** One run of an experiment in a data folder and a stack of its own, from its start to what it left behind. */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startExperiment } from "../apps/control/index.ts";
import type { ExperimentSettings } from "../core/experiment.ts";
import {
  connectTemporal,
  databaseUrl,
  ensureStack,
  hostOptions,
  readStack,
  type StackState,
  stopStack,
} from "../infra/stack/index.ts";
import { hostRuntimes, reapSandboxes } from "../services/sandbox/index.ts";
import { type Accounting, accounting } from "../services/store/accounting.ts";
import { type ComparedRecord, comparedRecord } from "../services/store/digest.ts";
import { connectDatabase, type Db, openDatabase, sha256Of } from "../services/store/index.ts";
import { startAuthor } from "./author.ts";
import { type LastLeaks, type LiveLeaks, lastLeaks, liveLeaks } from "./leaks.ts";
import type { Moment, Sample } from "./plan.ts";
import { type RunState, runState } from "./progress.ts";
import { type Spending, spending } from "./spend.ts";

/** What is done to a run beside it, at each look: `state` is the last known one, `now` how far it has come. */
export interface Disturber {
  step(folder: string, state: RunState, now: Moment, db: Db): Promise<void>;
}

export interface RunOptions {
  /** Holds the data folder and the run's own TMPDIR. */
  readonly folder: string;
  readonly name: string;
  readonly settings: ExperimentSettings;
  readonly codeVersion: string;
  readonly disturbance: Disturber | null;
  /** A scripted author that answers beside it. */
  readonly author?: { readonly personality: string; readonly port: number } | null;
  /** Settings of its stack, beside those of the environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly say: (line: string) => void;
}

/** A policy on record, with the sha256 of the file it names as it is on disk; null where there is none. */
export interface PolicyFile {
  readonly id: string;
  readonly sha256: string | null;
}

export interface RunReport {
  /** Null when the experiment is done, else what became of it. */
  readonly problem: string | null;
  readonly wallSeconds: number;
  readonly profile: readonly Sample[];
  readonly record: ComparedRecord;
  readonly accounting: Accounting;
  readonly spending: Spending;
  /** Requests that the author says it answered; null = there was none. */
  readonly authorAnswers: number | null;
  readonly finalPolicy: string | null;
  readonly policies: readonly PolicyFile[];
  /** Restarts by the supervisor. */
  readonly restarts: Readonly<Record<string, number>>;
  readonly live: LiveLeaks;
  /** Sandboxes that a reap removed once the experiment had ended. */
  readonly reaped: number;
  readonly last: LastLeaks;
}

const LOOK_MILLISECONDS = 200;

/** A run on which nothing new is on record for this long is given up. */
const STALLED_SECONDS = 600;

/** Settings of the caller's own stack that would make two stacks share something. */
const SHARED = /^(TEMPORAL_|DATABASE_URL$|TADPOLE_(STACK|TEMPORAL|POSTGRES|POLICY))/;

export async function runOnce(options: RunOptions): Promise<RunReport> {
  const data = join(options.folder, "data");
  const temporary = join(options.folder, "tmp");
  mkdirSync(temporary, { recursive: true });
  const own = Object.entries(process.env).filter(([name]) => !SHARED.test(name));
  const stackOptions = {
    dataFolder: data,
    env: { ...Object.fromEntries(own), ...options.env, TMPDIR: temporary },
  };
  const author = options.author ? await startAuthor(options.author.personality, options.author.port) : null;
  try {
    const stack = await ensureStack(stackOptions);
    await start(stack, options);
    const db = connectDatabase(databaseUrl(stack), { poolSize: 1, connectMs: 3000, statementMs: 10_000 });
    try {
      const followed = await follow(db, stack.dataFolder, options);
      const end = await untilServing(stackOptions);
      const live = await liveLeaks(stack.dataFolder, db);
      const found = await collect(db, stack.dataFolder, options.name);
      const { removed } = await reapSandboxes(hostRuntimes(hostOptions(stack.dataFolder)), {
        now: Date.now(),
        graceMs: 0,
      });
      await stopStack(data);
      return {
        ...followed,
        ...found,
        restarts: Object.fromEntries(end.processes.map(({ name, restarts }) => [name, restarts])),
        authorAnswers: (await author?.stop()) ?? null,
        live,
        reaped: removed.length,
        last: await lastLeaks(stack.dataFolder, temporary),
      };
    } finally {
      await db.destroy();
    }
  } finally {
    await stopStack(data);
    await author?.stop();
  }
}

async function start(stack: StackState, options: RunOptions): Promise<void> {
  const db = await openDatabase(databaseUrl(stack));
  const { client, connection } = await connectTemporal(stack.temporal);
  try {
    const { name, settings, codeVersion } = options;
    await startExperiment({ db, client, codeVersion }, name, settings);
  } finally {
    await connection.close();
    await db.destroy();
  }
}

/** What was killed last may still be starting; what was given up is told by the report, not by an error. */
async function untilServing(options: Parameters<typeof ensureStack>[0]): Promise<StackState> {
  const found = await ensureStack(options).catch(() => readStack(options.dataFolder));
  if (found === null) throw new Error(`${options.dataFolder}: the stack is gone`);
  return found;
}

async function follow(
  db: Db,
  folder: string,
  options: RunOptions,
): Promise<Pick<RunReport, "problem" | "wallSeconds" | "profile">> {
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1000;
  const profile: Sample[] = [{ at: 0, pieces: 0 }];
  let state: RunState | null = null;
  let since = 0;
  let told = "";
  for (;;) {
    const looked = await runState(db, options.name);
    if (looked !== null) {
      if (looked.pieces > (state?.pieces ?? 0)) since = seconds();
      state = looked;
      profile.push({ at: seconds(), pieces: looked.pieces });
    }
    const problem = trouble(folder, state, seconds() - since);
    if (problem !== null || state?.status === "done") return { problem, wallSeconds: seconds(), profile };
    const line = state === null ? "" : phaseOf(state);
    if (line !== told) options.say(`${seconds().toFixed(0).padStart(4)} s  ${line}`);
    told = line;
    if (state !== null)
      await options.disturbance?.step(
        folder,
        state,
        { pieces: state.pieces, seconds: seconds() - since },
        db,
      );
    await sleep(LOOK_MILLISECONDS);
  }
}

/** Why nothing good will come of this run any more; null while it may. */
function trouble(folder: string, state: RunState | null, idleSeconds: number): string | null {
  const givenUp = readStack(folder)?.processes.find(({ phase }) => phase === "failed");
  if (givenUp) return `the supervisor gave ${givenUp.name} up: ${givenUp.problem}`;
  if (state !== null && state.status !== "running" && state.status !== "done")
    return `the experiment ${state.status}: ${state.problem}`;
  if (state?.status === "running" && state.problem !== null)
    return `the experiment is held: ${state.problem}`;
  if (idleSeconds > STALLED_SECONDS) return `nothing new on record for ${STALLED_SECONDS} s`;
  return null;
}

function phaseOf({ iterations }: RunState): string {
  const last = iterations.at(-1);
  if (last === undefined) return "preparing";
  const updates = last.status === "climb" ? `, ${last.updates} updates` : "";
  return `iteration ${iterations.length}: ${last.status}${updates}`;
}

async function collect(
  db: Db,
  folder: string,
  name: string,
): Promise<Pick<RunReport, "record" | "accounting" | "spending" | "finalPolicy" | "policies">> {
  const record = await comparedRecord(db, name);
  const { result } = await db
    .selectFrom("experiments")
    .select("result")
    .where("name", "=", name)
    .executeTakeFirstOrThrow();
  return {
    record,
    accounting: await accounting(db, name),
    spending: await spending(db, name),
    finalPolicy: (result as { policy?: { id: string } } | null)?.policy?.id ?? null,
    policies: [...record.policies].map(([id, row]) => ({
      id,
      sha256: fileSha256(folder, JSON.parse(row.sha256!) as string),
    })),
  };
}

function fileSha256(folder: string, recorded: string): string | null {
  try {
    return sha256Of(readFileSync(join(folder, "artifacts", recorded.slice(0, 2), recorded.slice(2))));
  } catch {
    return null;
  }
}
