/** What a sandbox promises of limits. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MEMORY_FLAGS } from "../../infra/stack/processes.ts";
import { type Bench, isRunning, text } from "./sandbox-bench.ts";
import type { OutputCost } from "./sandbox-output-worker.ts";

/**
 * A small part of what passes, with room for when garbage is collected: a socket's reads are cut to what came, while a child's pipe is read into
 * new buffers of 64 kB. What it costs on a free machine `npm run bench -- sandbox` measures.
 */
const OUTPUT_COST_BYTES = { docker: 60e6, process: 120e6 };

export function limitsContract(bench: Bench): void {
  const { within, bash } = bench;
  describe("limits", () => {
    it("cut each output and drop the rest", () =>
      within(async (sandbox) => {
        const result = await bash(
          sandbox,
          "head -c 2000000 /dev/zero; echo e >&2; head -c 2000 /dev/zero >&2",
          { outputBytes: 1000 },
        );
        expect(result).toMatchObject({ exitCode: 0, stdoutTruncated: true, stderrTruncated: true });
        expect(result.stdout.length).toBe(1000);
        expect(text(result.stderr).slice(0, 2)).toBe("e\n");
        expect(await bash(sandbox, "printf 12345", { outputBytes: 5 })).toMatchObject({
          stdoutTruncated: false,
        });
      }));

    it("hold no output beyond: a gigabyte costs little memory", async () => {
      const { kept, truncated, growth } = await outputCost(bench);
      expect({ kept, truncated }).toEqual({ kept: 1000, truncated: true });
      expect(growth).toBeLessThan(OUTPUT_COST_BYTES[bench.name]);
    });

    it("end a command at its wall limit, whatever it does with signals", () =>
      within(async (sandbox) => {
        const result = await bash(sandbox, "trap '' TERM INT HUP XCPU; echo on; while :; do sleep 1; done", {
          timeoutSeconds: 0.5,
        });
        expect(result).toMatchObject({ timedOut: true, exitCode: null, signal: "SIGKILL" });
        expect(text(result.stdout)).toBe("on\n");
      }));

    it("end a command at its CPU limit and say what it used", () =>
      within(async (sandbox) => {
        const result = await bash(sandbox, "while :; do :; done", { cpuSeconds: 1 });
        expect(result).toMatchObject({ cpuExceeded: true, timedOut: false, exitCode: null });
        expect(result.cpuSeconds).toBeGreaterThan(0.7);
        expect(await bash(sandbox, "sleep 1.2", { cpuSeconds: 1 })).toMatchObject({
          cpuExceeded: false,
          exitCode: 0,
        });
      }));

    it("count the CPU of the whole tree, the dead included", () =>
      within(async (sandbox) => {
        const spin =
          "node -e 'const used = () => process.cpuUsage().user + process.cpuUsage().system; while (used() < 3e5);'";
        const result = await bash(sandbox, `(${spin}) & (${spin}); wait`);
        expect(result.cpuSeconds).toBeGreaterThan(0.55);
      }));

    it("end a command that takes too much memory, alone or together", () =>
      within(async (sandbox) => {
        const hold = (megabytes: number) =>
          `node -e 'const held = []; for (let i = 0; i < ${megabytes}; i++) held.push(Buffer.alloc(1e6, 1)); setTimeout(() => {}, 3e4)'`;
        expect(await bash(sandbox, hold(600))).toMatchObject({ outOfMemory: true, exitCode: null });
        expect(await bash(sandbox, `${hold(150)} & ${hold(150)}`)).toMatchObject({ outOfMemory: true });
        expect(await bash(sandbox, "node -e 'Buffer.alloc(5e7, 1)'")).toMatchObject({
          outOfMemory: false,
          exitCode: 0,
        });
      }));

    it("bound the processes of a command and say that it met the bound", () =>
      within(async (sandbox) => {
        // Doubles nine times and then waits: enough to pass the limit, not enough to harm the machine.
        const bomb =
          "f() { [ $1 -gt 9 ] && { sleep 20; return; }; f $(($1+1)) | f $(($1+1)) & }; f 0; sleep 2";
        expect(await bash(sandbox, bomb)).toMatchObject({ tooManyProcesses: true, timedOut: false });
        expect((await bash(sandbox, "echo alive")).exitCode).toBe(0);
      }));

    it("bound the disk and say that a command filled it; the next may clear it", () =>
      within(async (sandbox) => {
        const fill = "for i in 1 2 3 4 5 6 7 8; do head -c 8000000 /dev/zero > fill$i; done; sleep 0.5";
        expect(await bash(sandbox, fill)).toMatchObject({ diskFull: true });
        await expect(sandbox.write("more", new Uint8Array(1000))).rejects.toMatchObject({ code: "ENOSPC" });
        expect((await bash(sandbox, "rm fill*; sleep 0.3; echo cleared")).exitCode).toBe(0);
        await sandbox.write("more", new Uint8Array(1000));
      }));

    it("leave no process of a command, not even one that left its session", () =>
      within(async (sandbox) => {
        const marker = `9${process.pid}.${Date.now() % 1e6}`;
        const result = await bash(
          sandbox,
          `(setsid nohup sleep ${marker} >/dev/null 2>&1 </dev/null &); (trap '' TERM HUP; sleep ${marker}) & echo done`,
        );
        expect(text(result.stdout)).toBe("done\n");
        expect(isRunning(`sleep\0${marker}`)).toBe(false);
      }));
  });
}

/** With the flags of the stack's own workers. */
async function outputCost({ name, folder, specify }: Bench): Promise<OutputCost> {
  const worker = fork(
    join(import.meta.dirname, "sandbox-output-worker.ts"),
    [name, folder, JSON.stringify(specify())],
    { execArgv: [...MEMORY_FLAGS, "--expose-gc"], env: { ...process.env, MALLOC_ARENA_MAX: "2" } },
  );
  const ended = once(worker, "exit");
  const [cost] = await Promise.race([
    once(worker, "message"),
    ended.then(([code]) => {
      throw new Error(`the worker ended with ${code}`);
    }),
  ]);
  await ended;
  return cost;
}
