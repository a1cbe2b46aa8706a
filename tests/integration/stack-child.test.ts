/** One supervised process: real ones that behave, fail, hang or ignore signals. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { backoffSeconds, failuresUntilGivenUp, SupervisedProcess } from "../../infra/stack/child.ts";
import { ProcessLog } from "../../infra/stack/logs.ts";
import { isAlive } from "../../infra/stack/proc.ts";
import type { ProcessDefinition } from "../../infra/stack/processes.ts";

let root: string;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "tadpole-child-"));
  await mkdir(join(root, "logs"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const started: SupervisedProcess[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((each) => each.stop()));
});

function supervise(
  script: string,
  change: Partial<ProcessDefinition> = {},
  surroundings: { needsServe?: () => boolean; heldDownBy?: string } = {},
): SupervisedProcess {
  const child = new SupervisedProcess({
    definition: {
      name: "gpu",
      needs: [],
      absent: null,
      mark: script,
      command: async () => ({ file: process.execPath, args: ["-e", script] }),
      env: { GREETING: "hello" },
      readyBy: "message",
      startSeconds: 20,
      stop: [{ signal: "SIGTERM", graceSeconds: 0.3 }],
      ...change,
    },
    environment: { ...process.env },
    log: new ProcessLog(root, "gpu"),
    logger: pino({ level: "silent" }),
    cpuPastSeconds: 5,
    changed: () => {},
    ...surroundings,
  });
  started.push(child);
  child.start();
  return child;
}

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; tries < 800; tries++) {
    if (condition()) return;
    await sleep(25);
  }
  throw new Error("not within 20 s");
}

const ready = "process.send({ready:true});";
const forever = "setInterval(()=>{},1000);";

describe("a supervised process", () => {
  it("is ready when it says so, and stopped when asked", async () => {
    const child = supervise(`console.log(process.env.GREETING);${ready}${forever}`);
    await until(() => child.ready);
    const { identity, problem, restarts } = child.state();
    expect({ problem, restarts }).toEqual({ problem: null, restarts: 0 });
    await child.stop();
    expect(isAlive(identity!)).toBe(false);
    expect(child.state()).toMatchObject({ phase: "stopped", identity: null });
  });

  it("that ignores SIGTERM is killed after its grace", async () => {
    const child = supervise(`process.on("SIGTERM",()=>{});${ready}${forever}`);
    await until(() => child.ready);
    const identity = child.state().identity!;
    await child.stop();
    expect(isAlive(identity)).toBe(false);
  });

  it("starts again when it ends, with its CPU seconds added to those before", async () => {
    const child = supervise(
      `${ready}const end=Date.now()+300;while(Date.now()<end);setTimeout(()=>process.exit(3),1500)`,
    );
    await until(() => child.ready);
    await sleep(600);
    child.sample();
    const used = child.state().cpuSeconds;
    expect(used).toBeGreaterThan(5);
    await until(() => child.state().restarts >= 1 && child.ready);
    expect(child.state().cpuPastSeconds).toBeGreaterThanOrEqual(used);
  });

  it("that keeps failing is given up with the reason and its last words, and tried again when asked", async () => {
    const child = supervise('console.error("no such weights");process.exit(4)');
    await until(() => child.phase === "backoff");
    expect(child.state().problem).toMatch(/exit code 4\nno such weights/);
    await until(() => child.phase === "failed");
    expect(child.state().restarts).toBe(failuresUntilGivenUp - 1);
    expect(child.state().problem).toMatch(
      /^given up after 6 failures: ended with exit code 4\nno such weights/,
    );
    child.start();
    await until(() => child.phase === "backoff");
  });

  it("that serves and is killed by others again and again is never given up", async () => {
    const child = supervise(`${ready}${forever}`);
    for (let kills = 0; kills <= failuresUntilGivenUp; kills++) {
      await until(() => child.ready);
      const { identity, restarts } = child.state();
      expect(restarts).toBe(kills);
      process.kill(identity!.pid, "SIGKILL");
      await until(() => child.state().identity?.pid !== identity!.pid);
    }
    await until(() => child.ready);
  });

  it("that is killed before it serves, each time, is given up", async () => {
    const child = supervise('process.kill(process.pid,"SIGKILL")');
    await until(() => child.phase === "failed");
    expect(child.state().problem).toMatch(/^given up after 6 failures: ended by SIGKILL/);
  });

  it("that ends because what it needs is away waits for it and is not blamed", async () => {
    let serves = true;
    const child = supervise(`${ready}setTimeout(()=>process.exit(1),400)`, {}, { needsServe: () => serves });
    await until(() => child.ready);
    serves = false;
    await until(() => child.state().problem === "waits for what it needs");
    const { restarts } = child.state();
    await sleep(800);
    expect(child.state()).toMatchObject({ phase: "backoff", restarts });
    serves = true;
    await until(() => child.state().restarts > restarts && child.ready);
  });

  it("that is held down stays down until the file is gone", async () => {
    const heldDownBy = join(root, "held");
    const child = supervise(`${ready}${forever}`, {}, { heldDownBy });
    await until(() => child.ready);
    const identity = child.state().identity!;
    writeFileSync(heldDownBy, "");
    process.kill(identity.pid, "SIGKILL");
    await until(() => child.state().problem === `held down by ${heldDownBy}`);
    await sleep(600);
    expect(child.state()).toMatchObject({ phase: "backoff", identity: null });
    rmSync(heldDownBy);
    await until(() => child.ready);
    expect(child.state().restarts).toBe(1);
  });

  it("that never gets ready is ended and told", async () => {
    const child = supervise(forever, { startSeconds: 0.5 });
    await until(() => child.phase === "backoff");
    expect(child.state().problem).toMatch(/^not ready after 0.5 s/);
    expect(child.state().identity).toBeNull();
  });

  it("whose program does not exist is told, and stops the supervisor in nothing", async () => {
    const child = supervise("", { command: async () => ({ file: "/no/such/program", args: [] }) });
    await until(() => child.phase === "backoff");
    expect(child.state().problem).toMatch(/\/no\/such\/program.*ENOENT/);
  });

  it("whose preparation fails is told", async () => {
    const prepare = async () => {
      throw new Error("the disk is full");
    };
    const child = supervise(forever, { prepare });
    await until(() => child.phase === "backoff");
    expect(child.state().problem).toMatch(/^the disk is full/);
  });

  it("can be stopped while it starts, and while it waits to start again", async () => {
    const starting = supervise(forever);
    await until(() => starting.state().identity !== null);
    const identity = starting.state().identity!;
    await starting.stop();
    expect(isAlive(identity)).toBe(false);
    const waiting = supervise("process.exit(1)");
    await until(() => waiting.phase === "backoff");
    await waiting.stop();
    expect(waiting.phase).toBe("stopped");
  });
});

describe("backoffSeconds", () => {
  it("doubles, up to a limit", () => {
    expect([1, 2, 3, 4, 20].map(backoffSeconds)).toEqual([0.25, 0.5, 1, 2, 15]);
  });
});
