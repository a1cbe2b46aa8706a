/** Rollouts cut anywhere, once or several times, in real sandboxes with a real Postgres as the ledger. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  createProcessRuntime,
  SandboxError,
  type SandboxRuntime,
  type SandboxSpec,
} from "../../services/sandbox/index.ts";
import {
  appendTurn,
  completeTurn,
  type Db,
  dropTurns,
  openAttempt,
  openDatabase,
} from "../../services/store/index.ts";
import {
  attempt,
  Dead,
  type Death,
  disturbed,
  newWorld,
  type SlotLedger,
  type World,
} from "../support/cut-rollout.ts";
import { startTestPostgres, type TestPostgres } from "../support/postgres.ts";
import { bash, sayCall } from "../unit/harness-policy.ts";

let server: TestPostgres;
let db: Db;
let folder: string;
let runtime: SandboxRuntime;
let spec: SandboxSpec;
let made = 0;
beforeAll(async () => {
  server = await startTestPostgres();
  db = await openDatabase(server.url);
  folder = mkdtempSync(join(tmpdir(), "cut-"));
  writeFileSync(join(folder, "a.js"), "let a = 1;\n");
  runtime = createProcessRuntime({ root: `${folder}-boxes`, nodePath: process.execPath });
  const limits = { memoryMb: 256, processes: 32, diskMb: 32 };
  spec = { root: folder, overlay: [], mounts: [], limits, env: {} };
}, 60_000);
afterAll(async () => {
  await db?.destroy();
  await server?.stop();
  for (const path of [folder, `${folder}-boxes`]) rmSync(path, { recursive: true, force: true });
});

function slotOnRecord(rolloutKey: string): SlotLedger {
  return {
    open: async () => {
      const { previous, ...opened } = await openAttempt(db, { rolloutKey, experiment: "cut", epoch: 0 });
      return { ...opened, previousFence: previous?.fence ?? null };
    },
    append: (fence, row) => appendTurn(db, fence, row),
    complete: (fence, row) => completeTurn(db, fence, row),
    drop: (fence, reason) => dropTurns(db, fence, reason),
  };
}

function world(script: readonly string[]): World {
  const slot = `cut/${made++}`;
  return newWorld({ runtime, ledger: slotOnRecord(slot), spec, script, slot });
}

const line = fc.constantFrom(
  "echo x >> log; cat log",
  "mkdir d && echo made",
  "rm -rf d; ls",
  "echo s >> /tmp/s; cat /tmp/s",
  "ls -d /tmp/* d 2>&1",
  "wc -c a.js; chmod +x a.js; test -x a.js; echo $?",
  "ln -s a.js l; ls l",
  "exit 3",
  "node -p 'Math.random()'",
);
const call = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.array(line, { minLength: 1, maxLength: 3 }).map((lines) => bash(lines.join("\n"))),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      sayCall("Read", { file_path: "a.js" }),
      sayCall("Glob", { pattern: "**/*" }),
      sayCall("Write", { file_path: "e/f.js", content: "1" }),
      sayCall("Edit", { file_path: "a.js", old_string: "1", new_string: "12" }),
    ),
  },
);
const turn = fc.array(call, { minLength: 1, maxLength: 2 }).map((calls) => calls.join("\n"));
const deaths = fc.array(fc.record({ at: fc.nat(40), sandboxGone: fc.boolean() }), {
  minLength: 1,
  maxLength: 3,
});

describe("a rollout that is cut", () => {
  it("gives the trajectory, the change and the tree of an undisturbed one, and samples no finished turn again", async () => {
    const seen = { resumed: 0 };
    const property = async (script: readonly string[], fates: readonly Death[]) => {
      const { steps: _, ...whole } = await attempt(world(script), null);
      const here = world(script);
      expect(await disturbed(here, fates)).toEqual(whole);
      expect({ again: here.sampledAgain, dropped: here.droppedFor }).toEqual({ again: [], dropped: [] });
      const rows = await db
        .selectFrom("attempts")
        .select(["attempt", "status", "resumed_from", "resumed_turns"])
        .where("rollout_key", "=", here.slot)
        .orderBy("attempt")
        .execute();
      for (const row of rows)
        expect(row.resumed_from).toBe(row.resumed_turns === null ? null : row.attempt - 1);
      if (rows.some((row) => row.resumed_from !== null)) seen.resumed++;
    };
    const script = fc.array(turn, { minLength: 2, maxLength: 3 });
    // The second attempt dies between the calls that it makes again; the tree is the recorded one, the empty folder is missing.
    const halfReplayed: [string[], Death[]] = [
      [`${bash("echo x >> log; cat log")}\n${bash("mkdir d && echo made")}`, bash("mkdir d && echo made")],
      [
        { at: 23, sandboxGone: true },
        { at: 11, sandboxGone: false },
      ],
    ];
    await fc.assert(fc.asyncProperty(script, deaths, property), {
      numRuns: 12,
      // With real sandboxes a case that nobody changed must not come up by chance.
      seed: 12,
      examples: [halfReplayed],
    });
    expect(seen.resumed).toBeGreaterThan(0);
  });

  it("begins anew where its sandbox is killed for memory while the calls are made again", async () => {
    const here = world([bash("echo 1 > kept"), bash("cat kept")]);
    const whole = await attempt(world(here.script), null);
    await expect(attempt(here, 20)).rejects.toBeInstanceOf(Dead);
    await runtime.removeSlot({ experiment: "cut", slot: here.slot });
    const killed = new SandboxError("lost", "the kernel killed it whole", { outOfMemory: true });
    const doomed: SandboxRuntime = Object.assign(Object.create(runtime), {
      create: async (...given: Parameters<typeof runtime.create>) => {
        const sandbox = await runtime.create(...given);
        return given[1].fence.endsWith("-replay")
          ? Object.assign(sandbox, { exec: () => Promise.reject(killed) })
          : sandbox;
      },
    });
    const result = await disturbed({ ...here, runtime: doomed }, []);
    expect(result.tree).toBe(whole.tree);
    expect(here.droppedFor).toEqual(["begun anew: the calls took all memory when they were made again"]);
  });

  it("begins anew where the replay comes out otherwise, and says where", async () => {
    const outside = join(`${folder}-boxes`, "count");
    writeFileSync(outside, "0");
    const counting = { ...spec, mounts: [{ source: outside, target: "/count" }] };
    const script = [bash("echo 1 > kept"), bash("cat /count"), bash("cat kept")];
    const here = { ...world(script), spec: counting };
    const dying: SlotLedger = {
      ...here.ledger,
      complete: async (fence, row) => {
        await here.ledger.complete(fence, row);
        if (row.record.turn === 1) throw new Dead();
      },
    };
    await expect(attempt({ ...here, ledger: dying }, null)).rejects.toBeInstanceOf(Dead);
    await runtime.removeSlot({ experiment: "cut", slot: here.slot });
    writeFileSync(outside, "1");
    const result = await disturbed(here, []);
    expect(result.trajectory.turns[1]!.results).toEqual(["Exit code: 0\nSTDOUT:\n1\nSTDERR:\n"]);
    expect(here.droppedFor).toEqual(["begun anew: turn 1: call 1 (Bash) gave another result"]);
    const rows = await db
      .selectFrom("attempts")
      .select(["attempt", "resumed_from", "note"])
      .where("rollout_key", "=", here.slot)
      .orderBy("attempt")
      .execute();
    expect(rows).toEqual([
      { attempt: 1, resumed_from: null, note: null },
      { attempt: 2, resumed_from: null, note: here.droppedFor[0] },
    ]);
  });
});
