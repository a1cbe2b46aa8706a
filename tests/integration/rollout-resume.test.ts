/** The rollout activity after the death of the process that ran it: real processes, real sandboxes, a real record. */
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SandboxServices } from "../../activities/index.ts";
import type { RolloutInput } from "../../activities/types.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import {
  appendTurn,
  findRollout,
  getJson,
  listRollouts,
  openAttempt,
  readLedger,
} from "../../services/store/index.ts";
import { smallestSettings as settings } from "../support/smallest.ts";
import { turnTeller } from "../support/turn-teller.ts";
import { bash, sayCall } from "../unit/harness-policy.ts";
import {
  type ActivityBench,
  call,
  groupOf,
  makeTask,
  openActivityBench,
  sandboxActivities,
} from "./activities-services.ts";

let bench: ActivityBench;
let services: SandboxServices;
let taskId: string;

beforeAll(async () => {
  bench = await openActivityBench();
  services = bench.services;
  taskId = (await makeTask(services, "text-table")).task.id;
}, 300_000);
afterAll(() => bench?.close());

const slot = (name: string, change = {}): RolloutInput => {
  const limits = { ...settings.rollout.limits, maxTokensPerTurn: 1000 };
  return { group: groupOf(settings, taskId, { key: `e/${name}`, limits, ...change }), member: 0 };
};
const rollout = (input: RolloutInput, on: SandboxServices = services) =>
  call(sandboxActivities(on).rollout, input);

const attempts = (key: string) =>
  services.db
    .selectFrom("attempts")
    .select(["attempt", "status", "resumed_from", "resumed_turns", "note"])
    .where("rollout_key", "=", `${key}/0`)
    .orderBy("attempt")
    .execute();
const killed = { attempt: 1, status: "superseded", resumed_from: null, resumed_turns: null, note: null };
const accepted = { ...killed, attempt: 2, status: "accepted" };

/** Folders of the slot's sandboxes. */
function sandboxesOf(key: string): string[] {
  const root = join(bench.data, "sandboxes");
  return readdirSync(root)
    .map((name) => join(root, name))
    .filter((folder) => existsSync(join(folder, "label.json")))
    .filter(
      (folder) => JSON.parse(readFileSync(join(folder, "label.json"), "utf8")).identity.slot === `${key}/0`,
    );
}

/** Runs the slot in another process and kills it when it asks for a turn, or when `at` says so. */
async function killedOwner(
  input: RolloutInput,
  script: readonly string[],
  { stallAt = null, at }: { readonly stallAt?: number | null; readonly at?: () => boolean },
): Promise<void> {
  const order = join(bench.data, "order.json");
  writeFileSync(order, JSON.stringify({ url: bench.url, data: bench.data, input, script, stallAt }));
  const owner = spawn(
    process.execPath,
    [fileURLToPath(new URL("rollout-owner.ts", import.meta.url)), order],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const ended = new Promise((resolve) => owner.once("exit", resolve));
  const lines = createInterface({ input: owner.stdout });
  const stalled = new Promise<void>((resolve) =>
    lines.on("line", (line) => line === `asks for turn ${stallAt}` && resolve()),
  );
  if (at === undefined) await stalled;
  else while (!at()) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(owner.exitCode).toBeNull();
  owner.kill("SIGKILL");
  await ended;
}

const SCRIPT = [
  sayCall("Write", { file_path: "n.js", content: "1" }),
  bash("echo 2 >> n.js; echo scratch > /tmp/s; cat n.js"),
  bash("cat /tmp/*"),
  "done",
];

/** What the rollout comes to when nobody disturbs it. */
async function undisturbed(name: string, script: readonly string[]) {
  const input = slot(name);
  bench.play(turnTeller(input, script).client);
  await rollout(input);
  const { trajectory, change, tree_hash, content_key } = (await findRollout(services.db, `e/${name}/0`))!;
  return { trajectory, change, tree_hash, content_key };
}

describe("after its process was killed", () => {
  it("a rollout goes on in its live sandbox, where it was", async () => {
    const input = slot("adopted");
    await killedOwner(input, SCRIPT, { stallAt: 2 });
    const [left] = sandboxesOf("e/adopted");
    writeFileSync(join(left!, "tmp", "t"), "the very same\n");
    expect(await services.runtime.reap({ now: Date.now(), graceMs: 60_000 })).toBe(0);
    const { client, asked } = turnTeller(input, SCRIPT);
    bench.play(client);
    await rollout(input);
    expect(asked).toEqual([2, 3]);
    expect(await attempts("e/adopted")).toEqual([killed, { ...accepted, resumed_from: 1, resumed_turns: 2 }]);
    const row = (await findRollout(services.db, "e/adopted/0"))!;
    const { turns } = await getJson<Trajectory>(services.artifacts, row.trajectory);
    expect(turns[2]!.results[0]).toContain("scratch\nthe very same\n");
    expect(sandboxesOf("e/adopted")).toEqual([]);
  });

  it("a rollout whose sandbox is gone makes its calls again in a new one, and is what it would have been", async () => {
    const input = slot("replayed");
    await killedOwner(input, SCRIPT, { stallAt: 2 });
    // Without a grace the reaper leaves nothing of a dead owner.
    expect(await services.runtime.reap({ now: Date.now() })).toBe(1);
    const { client, asked } = turnTeller(input, SCRIPT);
    bench.play(client);
    await rollout(input);
    expect(asked).toEqual([2, 3]);
    expect(await attempts("e/replayed")).toEqual([
      killed,
      { ...accepted, resumed_from: 1, resumed_turns: 2 },
    ]);
    const whole = await undisturbed("whole", SCRIPT);
    expect(await findRollout(services.db, "e/replayed/0")).toMatchObject(whole);
  });

  it("a command that was cut runs again on the tree it began with", async () => {
    const command = "echo x >> log; mkdir d && sleep 2; cat log; rmdir d; rm log";
    const script = [bash("echo 1 > kept"), bash(command), "done"];
    const input = slot("command");
    const isAt = () => sandboxesOf("e/command").some((folder) => existsSync(join(folder, "tree", "d")));
    await killedOwner(input, script, { at: isAt });
    const { client, asked } = turnTeller(input, script);
    bench.play(client);
    await rollout(input);
    expect(asked).toEqual([2]);
    expect(await attempts("e/command")).toEqual([killed, { ...accepted, resumed_from: 1, resumed_turns: 2 }]);
    const whole = await undisturbed("whole-command", script);
    expect(await findRollout(services.db, "e/command/0")).toMatchObject(whole);
  });

  it("a rollout begins anew where the calls made again come out otherwise, and the attempt says why", async () => {
    const script = [bash("echo 1 > n.js"), bash("cat /proc/sys/kernel/random/uuid"), "done"];
    const input = slot("differs");
    await killedOwner(input, script, { stallAt: 2 });
    await services.runtime.removeSlot({ experiment: "e", slot: "e/differs/0" });
    const { client, asked } = turnTeller(input, script);
    bench.play(client);
    await rollout(input);
    expect(asked).toEqual([0, 1, 2]);
    const note = "begun anew: turn 1: call 1 (Bash) gave another result";
    expect(await attempts("e/differs")).toEqual([killed, { ...accepted, note }]);
  });

  it("turns of a rollout with other settings are not gone on with", async () => {
    await killedOwner(slot("other"), SCRIPT, { stallAt: 2 });
    const input = slot("other", { sampling: { ...settings.rollout.sampling, temperature: 0.5 } });
    const { client, asked } = turnTeller(input, SCRIPT);
    bench.play(client);
    await rollout(input);
    expect(asked).toEqual([0, 1, 2, 3]);
    const note = "begun anew: the turns on record are of a rollout with other settings";
    expect(await attempts("e/other")).toEqual([killed, { ...accepted, note }]);
  });

  it("its sandbox is swept once the grace is over", async () => {
    await killedOwner(slot("swept"), SCRIPT, { stallAt: 1 });
    const now = Date.now();
    const grace = { experiment: "e", graceMs: 60_000 };
    expect(await services.runtime.reap({ ...grace, now })).toBe(0);
    expect(await services.runtime.reap({ ...grace, now: now + 59_999 })).toBe(0);
    expect(await services.runtime.reap({ ...grace, now: now + 60_000 })).toBe(1);
    expect(sandboxesOf("e/swept")).toEqual([]);
  });
});

describe("an attempt that was superseded", () => {
  /** Services whose attempt does something else between its last turn and its acceptance. */
  const meanwhile = (deed: () => Promise<unknown>): SandboxServices => ({
    ...services,
    artifacts: {
      ...services.artifacts,
      get: (ref) => services.artifacts.get(ref),
      put: async (bytes, kind) => {
        if (kind === "trajectory") await deed();
        return services.artifacts.put(bytes, kind);
      },
    },
  });
  const late = (key: string) =>
    services.db
      .selectFrom("attempts")
      .select(["attempt", "status", "late_result"])
      .where("rollout_key", "=", `${key}/0`)
      .orderBy("attempt")
      .execute();

  it("keeps its late result, which changes nothing: the next attempt is the one that is accepted", async () => {
    const input = slot("late");
    const opens = () => openAttempt(services.db, { rolloutKey: "e/late/0", experiment: "e", epoch: 0 });
    bench.play(turnTeller(input, SCRIPT).client);
    await expect(rollout(input, meanwhile(opens))).rejects.toMatchObject({ type: "Fenced" });
    expect(await findRollout(services.db, "e/late/0")).toBeUndefined();
    const { client, asked } = turnTeller(input, SCRIPT);
    bench.play(client);
    await rollout(input);
    expect(asked).toEqual([]);
    const result = { exit: "agent", turns: 4 };
    expect(await late("e/late")).toEqual([
      { attempt: 1, status: "superseded", late_result: expect.objectContaining(result) },
      { attempt: 2, status: "superseded", late_result: null },
      { attempt: 3, status: "accepted", late_result: null },
    ]);
  });

  it("is told what was accepted meanwhile, and is counted once", async () => {
    const input = slot("outrun");
    let newer: unknown;
    bench.play(turnTeller(input, SCRIPT).client);
    const older = await rollout(
      input,
      meanwhile(async () => {
        newer = await rollout(input);
      }),
    );
    expect(older).toEqual(newer);
    expect(await late("e/outrun")).toMatchObject([
      { status: "superseded", late_result: { exit: "agent" } },
      { status: "accepted", late_result: null },
    ]);
    expect(await listRollouts(services.db, "e/outrun")).toHaveLength(1);
  });
});

describe("a slot whose rollout is taken over from an earlier try", () => {
  it("keeps neither the sandbox nor the turns of an attempt of its own", async () => {
    const randomKeys = [1, "climb", 2, 0];
    const whole = slot("it/1/try/1/taken", { randomKeys });
    bench.play(turnTeller(whole, SCRIPT).client);
    await rollout(whole);
    const input = slot("it/1/try/2/taken", { randomKeys, reuse: { from: null } });
    const key = "e/it/1/try/2/taken/0";
    const begun = await openAttempt(services.db, { rolloutKey: key, experiment: "e", epoch: 0 });
    await appendTurn(services.db, begun.fence, {
      record: { turn: 0, promptTokens: 0, completionTokens: 0, toolCalls: [], results: [], treeHash: null },
      promptTokens: [],
      sampledTokens: [],
      logProbs: [],
      weightVersion: "p",
      newSegment: true,
      reply: { text: "", finish: "stop", treeBefore: "", namesBefore: "", modelSeconds: 0, toolSeconds: 0 },
      answered: true,
    });
    await services.runtime.create(
      {
        root: bench.data,
        overlay: [],
        mounts: [],
        limits: { memoryMb: 64, processes: 8, diskMb: 8 },
        env: {},
      },
      { experiment: "e", slot: key, attempt: 1, fence: begun.fence, deadline: Date.now() + 600_000 },
    );
    expect(sandboxesOf("e/it/1/try/2/taken")).toHaveLength(1);
    const { client, asked } = turnTeller(input, SCRIPT);
    bench.play(client);
    await rollout(input);
    expect(asked).toEqual([]);
    expect(await findRollout(services.db, key)).toMatchObject({ reused_from: "e/it/1/try/1/taken/0" });
    expect(sandboxesOf("e/it/1/try/2/taken")).toEqual([]);
    expect(await readLedger(services.db, begun.fence)).toEqual([]);
    expect(await attempts("e/it/1/try/2/taken")).toMatchObject([{ status: "superseded" }]);
  });
});
