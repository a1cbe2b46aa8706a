/** What is left and what outlives a kill, looked for among real processes and in real folders. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Disturbance } from "../../chaos/disturbance.ts";
import { killProcess, outage, serving } from "../../chaos/kill.ts";
import { abandoned, lastLeaks, unusualNames } from "../../chaos/leaks.ts";
import {
  heldDownFile,
  type ProcessName,
  type ProcessState,
  type StackState,
} from "../../infra/stack/index.ts";
import { bootId, commandLine, identify, type ProcessIdentity, processStat } from "../../infra/stack/proc.ts";
import { writeState } from "../../infra/stack/state.ts";

let root: string;
let folder: string;
let temporary: string;
const started: ProcessIdentity[] = [];

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "tadpole-leaks-")));
  folder = join(root, "data");
  temporary = join(root, "tmp");
  mkdirSync(folder);
  mkdirSync(temporary);
});
afterEach(() => {
  for (const { pid, startTicks } of started.splice(0))
    if (processStat(pid)?.startTicks === startTicks) process.kill(pid, "SIGKILL");
  rmSync(root, { recursive: true });
});

const WAIT = "setInterval(()=>{},1000);";
/** Starts a child in a session of its own that runs `script` with the parent's pid as argument, and tells its pid. */
const withChild = (script: string) =>
  `const {pid} = require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(script)}, process.pid], {detached: true, stdio: "ignore"}); console.log(pid); ${WAIT}`;

async function start(script: string, env: NodeJS.ProcessEnv = {}): Promise<ChildProcess & { pid: number }> {
  const child = spawn(process.execPath, ["-e", script], { env, stdio: ["ignore", "pipe", "inherit"] });
  await once(child, "spawn");
  started.push(identify(child.pid!, "")!);
  return child as ChildProcess & { pid: number };
}

/** A process, with one below it that is its own group's leader. */
async function startTwo(below: string): Promise<{ parent: ProcessIdentity; child: number }> {
  const { pid, stdout } = await start(withChild(below));
  const child = Number(String((await once(stdout!, "data"))[0]));
  started.push(identify(child, "")!);
  return { parent: identify(pid, commandLine(pid))!, child };
}

function serves(
  name: ProcessName,
  identity: ProcessIdentity,
  phase: ProcessState["phase"] = "ready",
): ProcessState {
  return {
    ...{
      name,
      phase,
      identity,
      restarts: 0,
      cpuPastSeconds: 0,
      cpuSeconds: 0,
      problem: null,
      metricsUrl: null,
    },
    log: "",
  };
}

/** A stack of this folder on record, whose supervisor is that process. */
function record(supervisor: ProcessIdentity, processes: readonly ProcessState[] = []): void {
  const ports = {} as StackState["ports"];
  writeState({
    ...{ dataFolder: folder, bootId: bootId(), supervisor, supervisorCpuSeconds: 0, phase: "running", ports },
    ...{ startedAt: "2026-01-01T00:00:00.000Z", policyUrl: "", versioning: null, processes },
    temporal: {
      ...{ address: "", namespace: "", apiKeyVariable: null, tls: null, external: false, ui: null },
    },
    postgres: { external: false, host: "", database: "" },
  });
}

describe("processes left", () => {
  it("are those that carry the stack's mark or name its folder, and no others", async () => {
    expect((await lastLeaks(folder, temporary)).processes).toEqual([]);
    const marked = await start(WAIT, { TADPOLE_STACK: folder });
    const named = await start(`${WAIT} // ${folder}/postgres`);
    await start(`${WAIT} // ${folder}-of-another/postgres`, { TADPOLE_STACK: `${folder}-of-another` });
    expect((await lastLeaks(folder, temporary)).processes.toSorted()).toEqual(
      [marked, named].map(({ pid }) => `${pid} ${commandLine(pid)}`).sort(),
    );
    const ended = once(marked, "exit");
    marked.kill("SIGKILL");
    await ended;
    expect((await lastLeaks(folder, temporary)).processes).toEqual([
      `${named.pid} ${commandLine(named.pid)}`,
    ]);
  });

  it("of a stack that serves are those that are not below its supervisor", async () => {
    const { parent, child } = await startTwo(`${WAIT} // ${folder}/served`);
    record(parent);
    expect(abandoned(folder).processes).toEqual([]);
    const stray = await start(WAIT, { TADPOLE_STACK: folder });
    expect(abandoned(folder).processes).toEqual([`${stray.pid} ${commandLine(stray.pid)}`]);
    await killProcess("temporal", parent, 0.5);
    expect(
      abandoned(folder)
        .processes.map((line) => Number.parseInt(line, 10))
        .sort(),
    ).toEqual([child, stray.pid].sort());
  });
});

describe("sandboxes left", () => {
  const own = identify(process.pid, "")!;
  const sandbox = (name: string, slot: string | null, startTicks = own.startTicks) => {
    const path = join(folder, "sandboxes", name);
    mkdirSync(path, { recursive: true });
    if (slot !== null) writeFileSync(join(path, "label.json"), JSON.stringify({ identity: { slot } }));
    writeFileSync(join(path, "owner.json"), JSON.stringify({ pid: own.pid, startTicks: String(startTicks) }));
  };

  it("are all but a living grader's warm ones once the experiment has ended, and all of them at last", async () => {
    sandbox("a", "warm/1");
    sandbox("b", "warm/2", own.startTicks - 1);
    sandbox("c", "chaos/it/1/slot");
    sandbox("d", null);
    sandbox(".system-e", null);
    expect(abandoned(folder).sandboxes).toEqual(["warm/2", "chaos/it/1/slot", "d"]);
    expect((await lastLeaks(folder, temporary)).sandboxes).toEqual(["a", "b", "c", "d"]);
  });
});

describe("temporary files", () => {
  it("are found in TMPDIR and among half-written artifacts", async () => {
    expect((await lastLeaks(folder, temporary)).temporary).toEqual([]);
    mkdirSync(join(folder, "artifacts", "incoming"), { recursive: true });
    writeFileSync(join(folder, "artifacts", "incoming", "7@host@x"), "");
    mkdirSync(join(temporary, "tadpole-verify-aB3xYz"));
    expect((await lastLeaks(folder, temporary)).temporary).toEqual([
      "tadpole-verify-aB3xYz",
      "artifacts/incoming/7@host@x",
    ]);
  });

  it("are unusual by name, whatever is drawn anew in it, and by number", () => {
    const uuid = (last: string) => `00000000-0000-4000-8000-00000000000${last}`;
    const usual = ["node-compile-cache", "tadpole-x-aB3xYz", "core.17", `12@h@${uuid("1")}`];
    expect(unusualNames(usual, usual)).toEqual([]);
    expect(unusualNames(usual, ["tadpole-x-Qq99rr", "core.4711", `9@h@${uuid("2")}`])).toEqual([]);
    expect(unusualNames(usual, ["core.1", "core.2"])).toEqual(["core.2"]);
    expect(unusualNames(usual, ["tadpole-y-aB3xYz", "node-compile", "x"])).toEqual([
      "tadpole-y-aB3xYz",
      "node-compile",
      "x",
    ]);
    expect(unusualNames([], ["node-compile-cache"])).toEqual(["node-compile-cache"]);
  });
});

describe("a kill", () => {
  it("that ends everything below has no survivors", async () => {
    // Looks who its parent is, as bubblewrap's command is made to by the kernel.
    const { parent, child } = await startTwo(
      "setInterval(() => { if (process.ppid !== Number(process.argv[1])) process.exit(); }, 20);",
    );
    expect(await killProcess("policy", parent)).toEqual({
      ...{ process: "policy", pid: parent.pid, below: 1, survivors: [] },
    });
    expect(processStat(child)?.state ?? "Z").toBe("Z");
  });

  it("reports a child that outlives its parent", async () => {
    const { parent, child } = await startTwo(WAIT);
    const killed = await killProcess("sandbox", parent, 0.3);
    expect(killed).toMatchObject({ below: 1, survivors: [`${child} ${commandLine(child)}`] });
    expect(processStat(parent.pid)?.state ?? "Z").toBe("Z");
  });

  it("reports it too when its command line is another by then, as that of a Postgres backend is", async () => {
    const { parent, child } = await startTwo(
      `setInterval(() => { if (process.ppid !== Number(process.argv[1])) process.title = "backend: idle"; }, 10); ${WAIT}`,
    );
    const { survivors } = await killProcess("postgres", parent, 1);
    expect(survivors).toEqual([`${child} backend: idle`]);
  });
});

describe("a disturbance", () => {
  const state = (pieces: number, more = {}) =>
    ({ status: "running", problem: null, pieces, iterations: [], ...more }) as Parameters<
      Disturbance["step"]
    >[1];
  const disturbance = (
    kills: readonly ProcessName[],
    outages: readonly { process: "postgres"; seconds: number }[],
  ) =>
    new Disturbance({
      kills: kills.map((process, i) => ({
        process,
        fraction: 0,
        moment: { pieces: 10 * (i + 1), seconds: 0 },
      })),
      ...{ outages, climbs: { iterations: 1, updates: 4 }, say: () => {} },
    });

  it("kills at its moment what serves, and keeps for later what does not", async () => {
    const [one, two] = [await start(WAIT), await start(WAIT)].map(
      ({ pid }) => identify(pid, commandLine(pid))!,
    );
    record(identify(process.pid, "")!, [serves("temporal", one!, "backoff"), serves("gpu", two!)]);
    expect(serving(folder, "temporal")).toBeNull();
    const plan = disturbance(["temporal", "gpu"], []);
    await plan.step(folder, state(9), { pieces: 9, seconds: 100 });
    expect([plan.killed, plan.killsLeft]).toEqual([[], 2]);
    await plan.step(folder, state(10), { pieces: 10, seconds: 0 });
    expect(plan.killed).toEqual([{ process: "gpu", pid: two!.pid, below: 0, survivors: [] }]);
    // Nothing serves any more: the kill is still due, and is counted as one that did not fall.
    await plan.step(folder, state(99), { pieces: 99, seconds: 0 });
    expect(plan.killsLeft).toBe(1);
    expect(processStat(one!.pid)?.state).not.toBe("Z");
  });

  it("has an outage in the middle of a climb, and holds the process down for as long", async () => {
    const { pid } = await start(WAIT);
    record(identify(process.pid, "")!, [serves("postgres", identify(pid, commandLine(pid))!)]);
    const plan = disturbance([], [{ process: "postgres", seconds: 0.5 }]);
    const step = (iterations: readonly object[]) =>
      plan.step(folder, state(1, { iterations }), { pieces: 1, seconds: 0 });
    for (const early of [[], [{ status: "pool", updates: 2 }], [{ status: "climb", updates: 1 }]])
      await step(early);
    expect(plan.outages).toEqual([]);
    await step([{ status: "climb", updates: 2 }]);
    expect(plan.outages).toHaveLength(1);
    expect(plan.killed).toMatchObject([{ process: "postgres", pid, survivors: [] }]);
  });

  it("leaves no file that holds a process down, but has one while it lasts", async () => {
    const file = heldDownFile(folder, "temporal");
    const lasting = outage(folder, "temporal", 0.5);
    await sleep(100);
    expect(existsSync(file)).toBe(true);
    expect(await lasting).toBeNull();
    expect(existsSync(file)).toBe(false);
  });
});
