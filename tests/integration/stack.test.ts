/** The stack for real: Temporal and Postgres under the supervisor, started, killed in every way, and stopped without a trace. */
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  connectTemporal,
  databaseUrl,
  ensureStack,
  packageRoot,
  readStack,
  type StackStatus,
  stackStatus,
  stopStack,
} from "../../infra/stack/index.ts";
import { queryOnce } from "../../infra/stack/postgres.ts";
import { isAlive, processesWith } from "../../infra/stack/proc.ts";

const only = { ...process.env, TADPOLE_STACK_ONLY: "temporal,postgres" };
let root: string;
let folder: string;

beforeAll(() => {
  // A folder only its owner may enter: the stack has to work below it.
  root = mkdtempSync(join(tmpdir(), "tadpole-stack-"));
  folder = join(root, "data");
});
afterAll(async () => {
  for (const name of ["data", "second", "cli"]) await stopStack(join(root, name));
  rmSync(root, { recursive: true, force: true });
});

const start = (dataFolder = folder, env: NodeJS.ProcessEnv = only) => ensureStack({ dataFolder, env });
const living = (status: StackStatus) => status.processes.flatMap(({ pid }) => (pid === null ? [] : [pid]));
const pidOf = (name: string) => stackStatus(folder).processes.find((each) => each.name === name)?.pid ?? 0;

async function until(condition: () => boolean, what: string): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (condition()) return;
    await sleep(50);
  }
  throw new Error(`not within 30 s: ${what}`);
}

function segments(): string {
  return readFileSync("/proc/sysvipc/shm", "utf8");
}

function expectNothingLeft(): void {
  expect(processesWith("TADPOLE_STACK", folder)).toEqual([]);
  expect(living(stackStatus(folder))).toEqual([]);
  const pidFile = join(folder, "postgres/postmaster.pid");
  const id = existsSync(pidFile)
    ? readFileSync(pidFile, "utf8").split("\n")[6]?.trim().split(/\s+/)[1]
    : undefined;
  if (id) expect(segments()).not.toMatch(new RegExp(`^\\s*-?\\d+\\s+${id}\\s`, "m"));
}

async function query(sql: string) {
  return (await queryOnce(databaseUrl(readStack(folder)!), sql)).rows;
}

async function workflowIds(): Promise<string[]> {
  const { client, connection } = await connectTemporal(readStack(folder)!.temporal);
  const ids: string[] = [];
  for await (const { workflowId } of client.workflow.list()) ids.push(workflowId);
  await connection.close();
  return ids;
}

describe("a stack", () => {
  it("serves Temporal and Postgres once it is up, to two callers at once as one stack", async () => {
    const [one, two] = await Promise.all([start(), start()]);
    expect(one.supervisor).toEqual(two.supervisor);
    expect(living(stackStatus(folder))).toHaveLength(3);
    await query("create table kept (n int)");
    await query("insert into kept values (7)");
    const { client, connection } = await connectTemporal(one.temporal);
    await client.workflow.start("nobodyRunsThis", { taskQueue: "none", workflowId: "kept" });
    await connection.close();
    await until(() => stackStatus(folder).phase === "running", "running");
    const ui = await fetch(one.temporal.ui!);
    expect(ui.status).toBe(200);
  });

  it("accounts for CPU time and memory of each process", () => {
    const { processes, cpu } = stackStatus(folder);
    for (const each of processes.filter(({ pid }) => pid !== null)) {
      expect(each.rssMb).toBeGreaterThan(5);
      expect(each.cpuSeconds).toBeGreaterThan(0);
    }
    expect(cpu.infrastructureShare).toBeGreaterThan(0);
    expect(cpu.infrastructureShare).toBeLessThan(1);
  });

  it("holds neither the terminal nor a descriptor of its caller", () => {
    const supervisor = readStack(folder)!.supervisor.pid;
    const fields = readFileSync(`/proc/${supervisor}/stat`, "utf8").split(") ")[1]!.split(" ");
    expect(fields[3]).toBe(String(supervisor));
    expect(fields[4]).toBe("0");
  });

  it("listens on the loopback only, and asks for a password", async () => {
    const url = databaseUrl(readStack(folder)!).replace(/:[0-9a-f]{48}@/, ":wrong@");
    await expect(queryOnce(url, "select 1")).rejects.toThrow(/password authentication failed/);
  });

  it("keeps password and keys out of stack.json", () => {
    const password = readFileSync(join(folder, "postgres.password"), "utf8").trim();
    expect(readFileSync(join(folder, "stack.json"), "utf8")).not.toContain(password);
  });

  it.each(["temporal", "postgres"])(
    "starts %s again after a SIGKILL, with all it had, and counts on",
    async (name) => {
      const before = stackStatus(folder).processes.find((each) => each.name === name)!;
      process.kill(before.pid!, "SIGKILL");
      const now = () => stackStatus(folder).processes.find((each) => each.name === name)!;
      // Between the kill and the supervisor's notice, the process on record is dead: it has no pid.
      await until(() => {
        const { state, pid } = now();
        return state === "ready" && pid !== null && pid !== before.pid;
      }, `${name} is ready again`);
      expect(now().restarts).toBe(before.restarts + 1);
      expect(now().cpuSeconds).toBeGreaterThan(0);
      expect(await query("select n from kept")).toEqual([{ n: 7 }]);
      await until(
        () => stackStatus(folder).processes.every(({ problem }) => problem === null),
        "no problem is left",
      );
      expect(await workflowIds()).toContain("kept");
    },
  );

  it("comes back on the same ports after everything was killed at once", async () => {
    const before = readStack(folder)!;
    const usedBefore = stackStatus(folder).cpu.totalSeconds;
    for (const pid of living(stackStatus(folder))) process.kill(pid, "SIGKILL");
    await until(() => stackStatus(folder).phase === "dead", "the state reads as dead");
    const after = await start();
    expect(after.ports).toEqual(before.ports);
    expect(await query("select n from kept")).toEqual([{ n: 7 }]);
    expect(await workflowIds()).toContain("kept");
    expect(stackStatus(folder).cpu.totalSeconds).toBeGreaterThan(usedBefore * 0.5);
  });

  it("ends what outlived a killed supervisor before it starts anew", async () => {
    const orphan = readStack(folder)!.processes.find(({ name }) => name === "postgres")!.identity!;
    process.kill(readStack(folder)!.supervisor.pid, "SIGKILL");
    await until(() => stackStatus(folder).phase === "dead", "the state reads as dead");
    await start();
    expect(isAlive(orphan)).toBe(false);
    expect(pidOf("postgres")).not.toBe(orphan.pid);
    expect(await query("select n from kept")).toEqual([{ n: 7 }]);
  });

  it("refuses to be another one than it is", async () => {
    const busy = String(readStack(folder)!.ports.temporal);
    await expect(start(folder, { ...only, TADPOLE_TEMPORAL_PORT: "31001" })).rejects.toMatchObject({
      kind: "settings",
    });
    await expect(start(join(root, "second"), { ...only, TADPOLE_TEMPORAL_PORT: busy })).rejects.toMatchObject(
      {
        kind: "port",
        message: expect.stringContaining(`TADPOLE_TEMPORAL_PORT: port ${busy} is occupied`),
      },
    );
    expect(readStack(join(root, "second"))).toBeNull();
  });

  it("is independent of the stack of another folder", async () => {
    const second = join(root, "second");
    await start(second);
    const ports = [...Object.values(readStack(folder)!.ports), ...Object.values(readStack(second)!.ports)];
    expect(new Set(ports).size).toBe(ports.length);
    expect(
      (await queryOnce(databaseUrl(readStack(second)!), "select to_regclass('kept') as found")).rows,
    ).toEqual([{ found: null }]);
    await stopStack(second);
    expect(stackStatus(folder).phase).toBe("running");
    expect(await query("select n from kept")).toEqual([{ n: 7 }]);
  });

  it("leaves nothing when it is stopped, and nothing to stop then", async () => {
    expect(await stopStack(folder)).toEqual({ stopped: true, leftovers: 0 });
    expectNothingLeft();
    expect(stackStatus(folder).phase).toBe("stopped");
    expect(await stopStack(folder)).toEqual({ stopped: false, leftovers: 0 });
  });

  it("leaves nothing either when supervisor and Postgres were killed before", async () => {
    await start();
    const [supervisor, postgres] = [readStack(folder)!.supervisor.pid, pidOf("postgres")];
    process.kill(supervisor, "SIGKILL");
    process.kill(postgres, "SIGKILL");
    expect((await stopStack(folder)).stopped).toBe(true);
    expectNothingLeft();
  });

  it("starts with another port where the remembered one is taken meanwhile", async () => {
    const { postgres } = readStack(folder)!.ports;
    const thief = spawn(process.execPath, [
      "-e",
      `require("net").createServer().listen(${postgres},"127.0.0.1",()=>console.log("up"))`,
    ]);
    await new Promise((resolve) => thief.stdout.once("data", resolve));
    try {
      expect((await start()).ports.postgres).not.toBe(postgres);
      expect(await query("select n from kept")).toEqual([{ n: 7 }]);
    } finally {
      thief.kill("SIGKILL");
      await stopStack(folder);
    }
  });
});

describe("the commands", () => {
  const tadpole = (...args: string[]) =>
    promisify(execFile)(process.execPath, [join(packageRoot, "bin/tadpole.mjs"), ...args], {
      env: { ...only, TADPOLE_DATA: join(root, "cli") },
    });
  const failed = (...args: string[]) =>
    tadpole(...args).then(
      () => null,
      (error) => ({ code: error.code, stderr: error.stderr }),
    );

  it("up, status and down do what they say", async () => {
    expect((await failed("status"))?.code).toBe(1);
    const up = JSON.parse((await tadpole("up", "--json")).stdout) as StackStatus;
    expect(up.processes.filter(({ state }) => state === "ready").map(({ name }) => name)).toEqual([
      "temporal",
      "postgres",
    ]);
    expect((await tadpole("up")).stdout).toContain(`Temporal at ${up.temporal?.address}`);
    const { stdout } = await tadpole("status");
    for (const pid of living(up)) expect(stdout).toContain(String(pid));
    expect((await tadpole("doctor")).stdout).toContain("Everything a run needs is here.");
    expect(JSON.parse((await tadpole("down", "--json")).stdout)).toEqual({ stopped: true, leftovers: 0 });
    expect((await tadpole("down")).stdout).toContain("No stack runs");
  });

  it("end with exit code 2 and one line on bad input", async () => {
    const cases: [NodeJS.ProcessEnv, RegExp][] = [
      [{ TADPOLE_POLICY_PORT: "http" }, /^tadpole: TADPOLE_POLICY_PORT: expected a port number/],
      [{ TADPOLE_DATA: "/proc/none" }, /^tadpole: TADPOLE_DATA: \/proc\/none is not a writable folder/],
      [
        { DATABASE_URL: "postgres://u:secret@127.0.0.1:1/d" },
        /^tadpole: DATABASE_URL: Postgres at 127\.0\.0\.1:1\/d does not answer/,
      ],
    ];
    for (const [env, message] of cases) {
      const run = promisify(execFile)(process.execPath, [join(packageRoot, "bin/tadpole.mjs"), "up"], {
        env: { ...only, TADPOLE_DATA: join(root, "cli"), ...env },
      });
      const { code, stderr } = await run.then(
        () => ({ code: 0, stderr: "" }),
        (error) => error,
      );
      expect(stderr).toMatch(message);
      expect(stderr.trim().split("\n")).toHaveLength(1);
      expect(stderr).not.toContain("secret");
      expect(code).toBe(2);
    }
    expect(stackStatus(join(root, "cli")).phase).toBe("stopped");
  });
});
