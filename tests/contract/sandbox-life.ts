/** What a sandbox promises of its making, its end and who holds it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { hashManifest, SandboxError, type SandboxIdentity, scanTree } from "../../services/sandbox/index.ts";
import { type Bench, bytes, isRunning, text } from "./sandbox-bench.ts";

/** Starts an owner in another process and kills it while its command runs. */
async function killedOwner({ name, folder, specify }: Bench, identity: SandboxIdentity): Promise<void> {
  const script = fileURLToPath(new URL("sandbox-owner.ts", import.meta.url));
  const args = [script, name, folder, JSON.stringify(specify()), JSON.stringify(identity)];
  const owner = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(owner, "exit");
  await once(owner.stdout, "data");
  owner.kill("SIGKILL");
  await ended;
}

export function lifeContract(bench: Bench): void {
  const { within, bash, runtime, specify, identify, source } = bench;
  describe("life", () => {
    it("leaves the source alone", async () => {
      const before = hashManifest(await scanTree(source));
      await within((sandbox) => bash(sandbox, "rm -r index.js lib; echo x > y"));
      expect(hashManifest(await scanTree(source))).toBe(before);
    });

    it("ends with destroy, also of a running command, also twice", async () => {
      const sandbox = await runtime.create(specify(), identify());
      const marker = `8${process.pid}.${Date.now() % 1e6}`;
      const running = bash(sandbox, `sleep ${marker}`).catch((error: unknown) => error);
      await sandbox.destroy();
      await sandbox.destroy();
      expect(await running).toMatchObject({ kind: "destroyed" });
      expect(isRunning(`sleep\0${marker}`)).toBe(false);
      await expect(bash(sandbox, "true")).rejects.toMatchObject({ kind: "destroyed" });
      await expect(sandbox.read("index.js")).rejects.toBeInstanceOf(SandboxError);
      expect(await runtime.adopt(sandbox.identity, sandbox.identity)).toBeUndefined();
    });

    it("can be taken over by slot and fence, with its files and its base", async () => {
      const identity = identify();
      const first = await runtime.create(
        specify({ overlay: [{ kind: "delete", path: "lib/a.js" }] }),
        identity,
      );
      await first.write("kept", bytes("kept"));
      expect(await runtime.adopt({ ...identity, fence: "another" }, identity)).toBeUndefined();
      const second = await runtime.adopt(identity, {
        ...identity,
        attempt: 2,
        fence: `${identity.fence}+`,
      });
      expect(text(await second!.read("kept"))).toBe("kept");
      expect(await second!.changes()).toEqual([
        { kind: "write", path: "kept", content: "kept", encoding: "utf8" },
      ]);
      await expect(bash(first, "true")).rejects.toMatchObject({ kind: "lost" });
      await first.destroy();
      expect((await bash(second!, "cat kept")).exitCode).toBe(0);
      await second!.destroy();
    });

    it("is taken over from a holder whose command still runs: nothing of it writes on", async () => {
      const identity = identify();
      const first = await runtime.create(specify(), identity);
      const running = bash(first, "echo > begun; while :; do echo >> log; sleep 0.02; done").catch(
        (error: unknown) => error,
      );
      await new Promise((resolve) => setTimeout(resolve, 300));
      const second = await runtime.adopt(identity, { ...identity, attempt: 2, fence: "newer" });
      expect(await running).not.toMatchObject({ timedOut: true });
      const hash = await second!.treeHash();
      expect(text(await second!.read("begun"))).toBe("\n");
      expect((await bash(second!, "sleep 0.2")).exitCode).toBe(0);
      expect(await second!.treeHash()).toBe(hash);
      await expect(first.treeHash()).rejects.toMatchObject({ kind: "lost" });
      await second!.destroy();
    });

    it("can be taken over from an owner that was killed: its command ends, its files stay", async () => {
      const identity = identify({ adoptable: true });
      await killedOwner(bench, identity);
      expect(await runtime.list(Date.now())).toMatchObject([{ identity, state: "orphaned" }]);
      expect(await runtime.reap({ now: Date.now(), graceMs: 60_000 })).toBe(0);
      const adopted = await runtime.adopt(identity, { ...identity, attempt: 2, fence: "next" });
      expect(text(await adopted!.read("kept"))).toBe("kept");
      const hash = await adopted!.treeHash();
      expect((await bash(adopted!, "sleep 0.2")).exitCode).toBe(0);
      expect(await adopted!.treeHash()).toBe(hash);
      await adopted!.destroy();
      expect(await runtime.list(Date.now())).toEqual([]);
    });

    it("is ended by the reaper when its owner was killed and nobody may go on in it", async () => {
      const identity = identify();
      await killedOwner(bench, identity);
      expect(await runtime.reap({ now: Date.now(), graceMs: 60_000 })).toBe(1);
      expect(await runtime.list(Date.now())).toEqual([]);
    });

    it("is ended by the reaper after its deadline, by experiment", async () => {
      const now = Date.now();
      const old = await runtime.create(specify(), identify({ experiment: "reaped", deadline: now - 1 }));
      const young = await runtime.create(
        specify(),
        identify({ experiment: "reaped", deadline: now + 60_000 }),
      );
      expect(await runtime.reap({ experiment: "other", now })).toBe(0);
      expect(await runtime.reap({ experiment: "reaped", now })).toBe(1);
      await expect(bash(old, "true")).rejects.toMatchObject({ kind: "lost" });
      expect((await bash(young, "true")).exitCode).toBe(0);
      await old.destroy();
      await young.destroy();
    });
  });
}
