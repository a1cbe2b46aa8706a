/** SIGKILL to the sandbox worker while many sandboxes of rollouts live, and what then becomes of each. */
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import type { SandboxRuntimeName } from "../core/experiment.ts";
import { random } from "../core/random.ts";
import { hostOptions } from "../infra/stack/index.ts";
import { createRuntime, type SandboxInfo, type SandboxRuntime } from "../services/sandbox/index.ts";
import type { Db } from "../services/store/index.ts";
import { type Killed, killProcess, serving } from "./kill.ts";
import type { RunState } from "./progress.ts";
import type { Disturber } from "./run.ts";
import { SlowPolicy } from "./slow.ts";

/** Enough for some hundreds on a small machine: to boot, to have a turn each, to be taken up again. */
const GATHER_SECONDS = 300;
const TURNS_SECONDS = 120;
const RETURN_SECONDS = 180;

const LOOK_MILLISECONDS = 100;

/** How an interrupted rollout went on: in its own sandbox, in one where its recorded calls were made again, or from its first turn. */
export type Return = "adopted" | "replayed" | "anew";

export interface CrowdOptions {
  readonly runtime: SandboxRuntimeName;
  readonly experiment: string;
  /** Sandboxes of rollouts that have to live when the worker is killed. */
  readonly live: number;
  readonly seed: number;
  readonly say: (line: string) => void;
}

export class CrowdKill implements Disturber {
  killed: Killed | null = null;
  /** Sandboxes of rollouts that lived at the kill; before it, the most that were seen at once. */
  live = 0;
  /** Slots of the rollouts that the kill interrupted, and those of them whose sandboxes went with the worker. */
  interrupted: readonly string[] = [];
  gone: readonly string[] = [];
  /** By slot, of those that were seen at work again. */
  returns: ReadonlyMap<string, Return> = new Map();
  readonly #options: CrowdOptions;
  #isDone = false;

  constructor(options: CrowdOptions) {
    this.#options = options;
  }

  /** Acts once, when the climb begins, and returns when every interrupted rollout is at work again. */
  async step(folder: string, state: RunState, _now: unknown, db: Db): Promise<void> {
    if (this.#isDone || state.iterations.at(-1)?.status !== "climb") return;
    this.#isDone = true;
    const runtime = createRuntime(this.#options.runtime, hostOptions(folder));
    const policy = new SlowPolicy(folder);
    try {
      await this.#gather(runtime, policy, db);
      await this.#kill(folder, runtime, db);
    } finally {
      await policy.end();
    }
  }

  async #gather(runtime: SandboxRuntime, policy: SlowPolicy, db: Db): Promise<void> {
    const { live, seed, say, experiment } = this.#options;
    const all = await until(GATHER_SECONDS, async () => {
      this.live = Math.max(this.live, (await crowdOf(runtime)).length);
      return this.live >= live;
    });
    if (!all) return;
    say(`${this.live} sandboxes live`);
    // Between their first turn and their third.
    const turns = Math.ceil(live * (1 + 2 * random(seed, "chaos", "crowd").next()));
    policy.pace = "slow";
    await until(TURNS_SECONDS, async () => {
      const found = await ledgerOf(db, experiment);
      // Once some are done, before too few are left.
      const now = (await crowdOf(runtime)).length;
      const isThinning = now <= live && now < this.live;
      this.live = Math.max(this.live, now);
      return isThinning || (found.turns >= turns && found.slots >= live);
    });
    policy.pace = "still";
  }

  async #kill(folder: string, runtime: SandboxRuntime, db: Db): Promise<void> {
    const { live, seed, say, experiment } = this.#options;
    const identity = serving(folder, "sandbox");
    if (this.live < live || identity === null) return;
    const crowd = await crowdOf(runtime);
    this.live = crowd.length;
    if (this.live === 0) return;
    const at = Date.now();
    this.killed = await killProcess("sandbox", identity);
    // A quarter goes with the worker, as with its host: their calls have to be made again.
    this.interrupted = crowd.map(({ identity }) => identity.slot).sort();
    this.gone = random(seed, "chaos", "gone")
      .shuffle(this.interrupted)
      .slice(0, Math.floor(this.live / 4));
    for (const slot of this.gone) await runtime.removeSlot({ experiment, slot });
    say(`kill: sandbox (pid ${identity.pid}) with ${this.live} live; ${this.gone.length} of them are gone`);
    const made = await sandboxesAgain(runtime, db, crowd, at);
    const resumed = await resumedSlots(db, this.interrupted);
    this.returns = new Map(
      [...made].map(([slot, how]) => [
        slot,
        how === "adopted" ? how : resumed.has(slot) ? "replayed" : "anew",
      ]),
    );
    say(`${this.returns.size} of ${this.live} are at work again`);
  }
}

/** Sandboxes of rollouts with a living owner; graders' cannot be adopted. */
async function crowdOf(runtime: SandboxRuntime): Promise<readonly SandboxInfo[]> {
  const found = await runtime.list(Date.now());
  return found.filter(({ identity, state }) => state === "live" && identity.adoptable === true);
}

/** Turns on record of rollouts that are not done yet, and how many rollouts have one. */
async function ledgerOf(
  db: Db,
  experiment: string,
): Promise<{ readonly turns: number; readonly slots: number }> {
  const found = await sql<{ turns: number; slots: number }>`
    select count(*) as turns, count(distinct rollout_key) as slots from ledger
    where starts_with(rollout_key, ${`${experiment}/`})`.execute(db);
  return found.rows[0]!;
}

/** Of these, the slots whose last attempt went on from recorded turns. */
async function resumedSlots(db: Db, slots: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom("attempts")
    .select("rollout_key")
    .where("rollout_key", "in", [...slots])
    .where("resumed_from", "is not", null)
    .execute();
  return new Set(rows.map((row) => row.rollout_key));
}

async function acceptedSlots(db: Db, slots: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom("rollouts")
    .select("key")
    .where("key", "in", [...slots])
    .execute();
  return new Set(rows.map(({ key }) => key));
}

/** By slot of the crowd, the first sandbox of a later attempt; waits until each has one, or is done. A sandbox that was taken over keeps the time it was made. */
async function sandboxesAgain(
  runtime: SandboxRuntime,
  db: Db,
  crowd: readonly SandboxInfo[],
  killedAt: number,
): Promise<ReadonlyMap<string, "adopted" | "made">> {
  const waited = new Map(crowd.map(({ identity }) => [identity.slot, identity.attempt]));
  const seen = new Map<string, "adopted" | "made">();
  await until(RETURN_SECONDS, async () => {
    for (const { identity, created } of await crowdOf(runtime)) {
      const { slot, attempt, fence } = identity;
      const isLater = attempt > (waited.get(slot) ?? attempt) && !fence.endsWith("-replay");
      if (isLater && !seen.has(slot)) seen.set(slot, created <= killedAt ? "adopted" : "made");
    }
    const done = await acceptedSlots(db, [...waited.keys()]);
    return [...waited.keys()].every((slot) => seen.has(slot) || done.has(slot));
  });
  return seen;
}

/** False when the time is over. */
async function until(seconds: number, look: () => Promise<boolean>): Promise<boolean> {
  const deadline = Date.now() + seconds * 1000;
  while (Date.now() < deadline) {
    if (await look()) return true;
    await sleep(LOOK_MILLISECONDS);
  }
  return false;
}
