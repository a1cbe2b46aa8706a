/** Processes as /proc shows them, tried on this very process and on one that it starts. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import {
  commandLine,
  descendants,
  identify,
  isAlive,
  parseStat,
  processesWith,
  residentMb,
  terminate,
  treeCpuSeconds,
} from "../../infra/stack/proc.ts";

const stat = (command: string) =>
  `4242 (${command}) S 17 4242 4242 0 -1 4194560 500 900 0 0 150 50 25 75 20 0 11 0 987654 1000000 250 18446744073709551615`;

describe("parseStat", () => {
  it("reads parent, state, start and CPU seconds with those of waited-for children", () => {
    expect(parseStat(stat("node"))).toEqual({ parent: 17, state: "S", startTicks: 987654, cpuSeconds: 3 });
  });

  it("is not misled by spaces and parentheses in the command's name", () => {
    expect(parseStat(stat("a) R 1 (b c)"))).toEqual(parseStat(stat("node")));
  });
});

describe("a process identity", () => {
  const self = identify(process.pid, commandLine(process.pid))!;

  it("holds while the process lives", () => {
    expect(isAlive(self)).toBe(true);
  });

  it("does not hold for the same pid with another start time or another command", () => {
    expect(isAlive({ ...self, startTicks: self.startTicks + 1 })).toBe(false);
    expect(isAlive({ ...self, command: "postgres -D /elsewhere" })).toBe(false);
  });

  it("is found by what stands in its environment, with its descendants, and can be ended though it ignores SIGTERM", async () => {
    const mark = `test-${process.pid}`;
    const script = "process.on('SIGTERM',()=>{}); console.log('up'); setInterval(()=>{},1000)";
    const child = spawn(process.execPath, ["-e", script], {
      env: { TADPOLE_STACK: mark },
      stdio: ["ignore", "pipe", "ignore"],
    });
    await once(child.stdout, "data");
    const found = processesWith("TADPOLE_STACK", mark);
    expect(found.map(({ pid }) => pid)).toEqual([child.pid]);
    expect(processesWith("TADPOLE_STACK", mark.slice(0, -1))).toEqual([]);
    expect(descendants(process.pid)).toContain(child.pid);
    const ended = once(child, "exit");
    expect(await terminate(found[0]!, [{ signal: "SIGTERM", graceSeconds: 0.2 }])).toBe(true);
    expect(await ended).toEqual([null, "SIGKILL"]);
  });

  it("is not signalled when it does not match", async () => {
    const stranger = { ...self, startTicks: self.startTicks - 1 };
    expect(await terminate(stranger, [{ signal: "SIGTERM", graceSeconds: 1 }])).toBe(true);
    expect(isAlive(self)).toBe(true);
  });
});

describe("usage", () => {
  it("counts shared pages of several processes once", () => {
    const one = residentMb([process.pid]);
    expect(one).toBeGreaterThan(10);
    expect(residentMb([])).toBe(0);
    const both = residentMb([process.pid, process.ppid]);
    expect(both).toBeGreaterThanOrEqual(one);
    expect(both).toBeLessThan(one + residentMb([process.ppid]));
  });

  it("counts CPU seconds and is zero for a process that is gone", () => {
    expect(treeCpuSeconds(process.pid)).toBeGreaterThan(0);
    expect(treeCpuSeconds(2 ** 22 + 1)).toBe(0);
  });
});
