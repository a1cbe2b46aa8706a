/**
 * Rollouts that are cut off, and attempts that go on from there. Whatever an attempt does with the world is a step; at a given step it is dead:
 * the step before it has happened, nothing after it does, and nobody cleans up.
 */
import { createHash } from "node:crypto";
import { restoreSandbox } from "../../activities/slot.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { type LedgerTurn, type RolloutRequest, runRollout } from "../../services/harness/index.ts";
import { createNanoTemplate } from "../../services/policy/nano/template.ts";
import { END_OF_TURN, encodeText } from "../../services/policy/nano/tokens.ts";
import type { Sandbox, SandboxRuntime, SandboxSpec } from "../../services/sandbox/runtime.ts";
import { SAMPLING } from "../unit/harness-policy.ts";

export class Dead extends Error {}

/** One attempt's steps; `dieAt` null = it lives to its end. */
export class Life {
  steps = 0;
  private readonly dieAt: number | null;
  constructor(dieAt: number | null) {
    this.dieAt = dieAt;
  }
  private step(): void {
    if (this.dieAt !== null && this.steps >= this.dieAt) throw new Dead();
    this.steps++;
  }
  /** A step before the deed and one after it: it may be done without anyone hearing of it. */
  async do<T>(deed: () => Promise<T>, half?: () => Promise<unknown>): Promise<T> {
    this.step();
    if (half !== undefined) {
      if (this.steps === this.dieAt) await half();
      this.step();
    }
    const result = await deed();
    this.step();
    return result;
  }
}

/** What outlives attempts: the slot's turns, of which only the current fence may write. */
export interface SlotLedger {
  open(): Promise<{
    readonly attempt: number;
    readonly fence: string;
    readonly resumed: readonly LedgerTurn[];
    readonly previousFence: string | null;
  }>;
  append(fence: string, row: LedgerTurn): Promise<void>;
  complete(fence: string, row: LedgerTurn): Promise<void>;
  drop(fence: string, reason: string): Promise<void>;
}

export interface Result {
  readonly trajectory: Trajectory;
  readonly tree: string;
  readonly change: unknown;
}

export interface World {
  readonly runtime: SandboxRuntime;
  readonly ledger: SlotLedger;
  readonly spec: SandboxSpec;
  /** Text of each turn. */
  readonly script: readonly string[];
  readonly slot: string;
  /** Turns asked for although they were on record. */
  readonly sampledAgain: number[];
  readonly droppedFor: string[];
  readonly committed: Set<number>;
  /** From this turn on a router puts a token of its own before the prompt. */
  readonly routedFrom?: number;
}

export const newWorld = (
  parts: Pick<World, "runtime" | "ledger" | "spec" | "script" | "slot"> & Partial<World>,
): World => ({
  ...parts,
  sampledAgain: [],
  droppedFor: [],
  committed: new Set(),
});

/** The first half of a shell command's lines: what ran of it when its process was killed. */
function halfOf(argv: readonly string[]): readonly string[] {
  const lines = argv.at(-1)!.split("\n");
  return [...argv.slice(0, -1), lines.slice(0, Math.ceil(lines.length / 2)).join("\n")];
}

function mortal(sandbox: Sandbox, life: Life): Sandbox {
  return {
    identity: sandbox.identity,
    workdir: sandbox.workdir,
    exec: (argv, limits) =>
      life.do(
        () => sandbox.exec(argv, limits),
        () => sandbox.exec(halfOf(argv), limits),
      ),
    read: (path) => life.do(() => sandbox.read(path)),
    write: (path, bytes) => life.do(() => sandbox.write(path, bytes)),
    list: (path) => life.do(() => sandbox.list(path)),
    stat: (path) => life.do(() => sandbox.stat(path)),
    changes: () => life.do(() => sandbox.changes()),
    treeHash: () => life.do(() => sandbox.treeHash()),
    renew: (now) => sandbox.renew(now),
    destroy: () => sandbox.destroy(),
  };
}

/** Says the script's text of the turn that is asked for; the log-probabilities tell one prompt from another. */
function client(world: World, life: Life): RolloutRequest["client"] {
  return {
    capabilities: async () => Promise.reject(new Error("not asked for")),
    complete: ({ prompt, seed, policy }) =>
      life.do(async () => {
        if (world.committed.has(seed)) world.sampledAgain.push(seed);
        const text = world.script[seed] ?? "done";
        const tokens = [...encodeText(text), END_OF_TURN];
        const digest = createHash("sha256").update(prompt.join(" ")).digest();
        const isRouted = world.routedFrom !== undefined && seed >= world.routedFrom && prompt[0] !== 7;
        return {
          text,
          tokens,
          logProbs: tokens.map((_, i) => -digest[i % 32]! / 256),
          finish: "stop",
          weightVersion: policy,
          usage: { promptTokens: prompt.length, completionTokens: tokens.length },
          ...(isRouted ? { promptTokens: [7, ...prompt] } : {}),
        };
      }),
  };
}

/** One attempt at the slot, as the rollout activity makes it. Throws Dead when it dies. */
export async function attempt(world: World, dieAt: number | null): Promise<Result & { steps: number }> {
  const life = new Life(dieAt);
  const { runtime, ledger, spec, slot } = world;
  const { fence, attempt: number, resumed, previousFence } = await life.do(() => ledger.open());
  const restored = await restoreSandbox(
    {
      ...runtime,
      name: runtime.name,
      unavailable: () => runtime.unavailable(),
      reap: (filter) => runtime.reap(filter),
      create: (given, identity) => life.do(async () => mortal(await runtime.create(given, identity), life)),
      adopt: (previous, identity) =>
        life.do(async () => {
          const sandbox = await runtime.adopt(previous, identity);
          return sandbox && mortal(sandbox, life);
        }),
      removeSlot: (of, keep) => life.do(() => runtime.removeSlot(of, keep)),
    },
    {
      spec,
      identity: { experiment: "cut", slot, attempt: number, fence, deadline: Date.now() + 600_000 },
      resumed,
      previousFence,
      settings: {},
      onSandbox: () => {},
      onAnew: (reason) =>
        life.do(async () => {
          await ledger.drop(fence, reason);
          world.droppedFor.push(reason);
          world.committed.clear();
        }),
    },
  );
  const { sandbox, rows } = restored;
  const { trajectory } = await runRollout({
    statement: "fix it",
    policy: "nano-1",
    limits: { maxContextTokens: 100_000, maxTurns: 20, maxTokensPerTurn: 5000, maxSeconds: null },
    sampling: SAMPLING,
    turnSeed: (turn) => turn,
    sandbox,
    client: client(world, life),
    template: createNanoTemplate(),
    ledger: {
      append: (row) =>
        life.do(async () => {
          await ledger.append(fence, row);
          world.committed.add(row.record.turn);
        }),
      complete: (row) => life.do(() => ledger.complete(fence, row)),
    },
    resumed: rows,
  });
  const tree = await sandbox.treeHash();
  const change = await sandbox.changes();
  await sandbox.destroy();
  return { trajectory, tree, change, steps: life.steps };
}

export interface Death {
  readonly at: number;
  /** The sandbox goes with its host. */
  readonly sandboxGone: boolean;
}

/** Attempts that die as told, and one that lives. */
export async function disturbed(world: World, deaths: readonly Death[]): Promise<Result> {
  for (const { at, sandboxGone } of deaths) {
    try {
      const { steps: _, ...result } = await attempt(world, at);
      return result;
    } catch (error) {
      if (!(error instanceof Dead)) throw error;
    }
    if (sandboxGone) await world.runtime.removeSlot({ experiment: "cut", slot: world.slot });
  }
  const { steps: _, ...result } = await attempt(world, null);
  return result;
}

/** A ledger in memory with the record's rules: one current fence, turns belong to it, a turn is appended once. */
export function memorySlot(): SlotLedger & { readonly rows: () => readonly LedgerTurn[] } {
  let rows: LedgerTurn[] = [];
  let current = 0;
  const check = (fence: string) => {
    if (fence !== String(current)) throw new Error(`fenced: ${fence}`);
  };
  return {
    rows: () => rows,
    open: async () => {
      const previousFence = current === 0 ? null : String(current);
      current++;
      return { attempt: current, fence: String(current), resumed: structuredClone(rows), previousFence };
    },
    append: async (fence, row) => {
      check(fence);
      if (row.record.turn !== rows.length) throw new Error(`turn ${row.record.turn} after ${rows.length}`);
      rows.push(structuredClone(row));
    },
    complete: async (fence, row) => {
      check(fence);
      if (rows[row.record.turn] === undefined) throw new Error(`no turn ${row.record.turn}`);
      rows[row.record.turn] = structuredClone(row);
    },
    drop: async (fence) => {
      check(fence);
      rows = [];
    },
  };
}
