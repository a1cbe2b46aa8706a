/** What every sandbox runtime promises; run against each by `sandbox.test.ts`. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FileChange } from "../../core/task.ts";
import {
  applyChanges,
  type ExecLimits,
  type ExecResult,
  hashManifest,
  type Sandbox,
  SandboxError,
  type SandboxIdentity,
  type SandboxRuntime,
  type SandboxSpec,
  scanTree,
} from "../../services/sandbox/index.ts";

export const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8");
export const bytes = (content: string): Uint8Array => Buffer.from(content, "utf8");

const LIMITS: ExecLimits = { timeoutSeconds: 30, outputBytes: 100_000 };

/** True while a process of the host has `marker` in its command line. */
function isRunning(marker: string): boolean {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .some((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(marker);
      } catch {
        return false;
      }
    });
}

export function sandboxContract(name: string, makeRuntime: (folder: string) => SandboxRuntime): void {
  describe(`${name} sandbox`, () => {
    const folder = mkdtempSync(join(tmpdir(), "sandbox contract "));
    const runtime = makeRuntime(folder);
    const source = join(folder, "source");
    const modules = join(folder, "modules");
    let slots = 0;

    const identify = (over: Partial<SandboxIdentity> = {}): SandboxIdentity => ({
      experiment: "contract",
      slot: `slot-${slots++}`,
      attempt: 1,
      fence: "fence",
      deadline: Date.now() + 600_000,
      ...over,
    });
    const specify = (over: Partial<SandboxSpec> = {}): SandboxSpec => ({
      root: source,
      overlay: [],
      mounts: [{ source: modules, target: "/repo/node_modules" }],
      limits: { memoryMb: 256, processes: 32, diskMb: 32 },
      env: {},
      ...over,
    });
    /** A sandbox for the length of a test. */
    async function within<T>(
      use: (sandbox: Sandbox) => Promise<T>,
      spec: Partial<SandboxSpec> = {},
    ): Promise<T> {
      const sandbox = await runtime.create(specify(spec), identify());
      try {
        return await use(sandbox);
      } finally {
        await sandbox.destroy();
      }
    }
    const bash = (sandbox: Sandbox, script: string, limits: Partial<ExecLimits> = {}): Promise<ExecResult> =>
      sandbox.exec(["bash", "-c", script], { ...LIMITS, ...limits });

    beforeAll(() => {
      mkdirSync(join(source, "lib"), { recursive: true });
      mkdirSync(join(modules, "dep"), { recursive: true });
      writeFileSync(join(source, "index.js"), "module.exports = 1;\n");
      writeFileSync(join(source, "lib", "a.js"), "module.exports = 2;\n");
      writeFileSync(join(modules, "dep", "index.js"), "module.exports = 'dep';\n");
    });
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    describe("commands", () => {
      it("run argv as it is, in the working tree, with stdout and stderr apart", () =>
        within(async (sandbox) => {
          const result = await sandbox.exec(
            ["node", "-e", "console.log(process.argv[1]); console.error(process.cwd())", "a  'b' $c\n"],
            LIMITS,
          );
          expect(text(result.stdout)).toBe("a  'b' $c\n\n");
          expect(text(result.stderr)).toBe(`${sandbox.workdir}\n`);
          expect(result).toMatchObject({ exitCode: 0, signal: null, timedOut: false });
        }));

      it("report exit codes and signals", () =>
        within(async (sandbox) => {
          expect(await bash(sandbox, "exit 7")).toMatchObject({ exitCode: 7, signal: null });
          expect(await bash(sandbox, "kill -TERM $$")).toMatchObject({ exitCode: null, signal: "SIGTERM" });
          expect(await sandbox.exec(["no-such-program"], LIMITS)).toMatchObject({ exitCode: 127 });
        }));

      it("see the variables of the spec and none of the host's", async () => {
        process.env.TADPOLE_CONTRACT_SECRET = "secret";
        try {
          await within(
            async (sandbox) => {
              const { stdout } = await bash(sandbox, "env");
              expect(text(stdout)).toContain("ANSWER=42\n");
              expect(text(stdout)).not.toContain("SECRET");
            },
            { env: { ANSWER: "42" } },
          );
        } finally {
          delete process.env.TADPOLE_CONTRACT_SECRET;
        }
      });

      it("get the given input, and an empty one otherwise", () =>
        within(async (sandbox) => {
          expect(text((await bash(sandbox, "cat", { stdin: bytes("hello") })).stdout)).toBe("hello");
          expect(text((await bash(sandbox, "cat; echo end")).stdout)).toBe("end\n");
        }));

      it("keep files of the tree and of /tmp from one to the next", () =>
        within(async (sandbox) => {
          await bash(sandbox, "echo 1 > new; echo 2 > /tmp/new");
          expect(text((await bash(sandbox, "cat new /tmp/new")).stdout)).toBe("1\n2\n");
        }));

      it("run one at a time", () =>
        within(async (sandbox) => {
          const first = bash(sandbox, "sleep 0.2; echo first");
          await expect(bash(sandbox, "true")).rejects.toMatchObject({ kind: "busy" });
          await expect(sandbox.read("index.js")).rejects.toMatchObject({ kind: "busy" });
          expect(text((await first).stdout)).toBe("first\n");
          expect((await bash(sandbox, "true")).exitCode).toBe(0);
        }));

      it("end with the signal of the caller", () =>
        within(async (sandbox) => {
          const controller = new AbortController();
          const running = bash(sandbox, "sleep 60", { signal: controller.signal });
          controller.abort(new Error("called off"));
          await expect(running).rejects.toThrow("called off");
          expect((await bash(sandbox, "true")).exitCode).toBe(0);
        }));

      it("draw the same random numbers in every process of Node", () =>
        within(async (sandbox) => {
          const draw = async () => text((await sandbox.exec(["node", "-p", "Math.random()"], LIMITS)).stdout);
          expect(await draw()).toBe(await draw());
        }));

      it("lose no output of a Node program that ends by an exception", () =>
        within(async (sandbox) => {
          const code = "for (let i = 0; i < 30000; i++) console.log('0123456789'); throw new Error('end')";
          const result = await sandbox.exec(["node", "-e", code], { ...LIMITS, outputBytes: 1_000_000 });
          expect(result.exitCode).toBe(1);
          expect(result.stdout.length).toBe(330_000);
        }));
    });

    describe("limits", () => {
      it("cut each output and drop the rest", () =>
        within(async (sandbox) => {
          const before = process.memoryUsage().rss;
          const result = await bash(
            sandbox,
            "head -c 1000000000 /dev/zero; echo e >&2; head -c 2000 /dev/zero >&2",
            {
              outputBytes: 1000,
            },
          );
          expect(result).toMatchObject({ exitCode: 0, stdoutTruncated: true, stderrTruncated: true });
          expect(result.stdout.length).toBe(1000);
          expect(text(result.stderr).slice(0, 2)).toBe("e\n");
          expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000);
          expect(await bash(sandbox, "printf 12345", { outputBytes: 5 })).toMatchObject({
            stdoutTruncated: false,
          });
        }));

      it("end a command at its wall limit, whatever it does with signals", () =>
        within(async (sandbox) => {
          const result = await bash(
            sandbox,
            "trap '' TERM INT HUP XCPU; echo on; while :; do sleep 1; done",
            {
              timeoutSeconds: 0.5,
            },
          );
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

    describe("files", () => {
      it("are read, written, listed and looked at", () =>
        within(async (sandbox) => {
          await sandbox.write("deep/er/file.txt", bytes("text"));
          await sandbox.write("/tmp/other", bytes("other"));
          expect(text(await sandbox.read("/repo/deep/er/file.txt"))).toBe("text");
          expect(text((await bash(sandbox, "cat deep/er/file.txt /tmp/other")).stdout)).toBe("textother");
          const listed = (await sandbox.list(".")).map((entry) => `${entry.type} ${entry.path}`).sort();
          expect(listed).toEqual([
            "directory deep",
            "directory deep/er",
            "directory lib",
            "directory node_modules",
            "file deep/er/file.txt",
            "file index.js",
            "file lib/a.js",
          ]);
          expect(await sandbox.list("deep/er")).toEqual([{ path: "deep/er/file.txt", type: "file" }]);
          expect(await sandbox.stat("deep")).toMatchObject({ type: "directory" });
          expect(await sandbox.stat("deep/er/file.txt")).toEqual({ type: "file", bytes: 4 });
          expect(await sandbox.stat("absent")).toBeNull();
          expect(await sandbox.stat("index.js/below")).toBeNull();
          expect(text(await sandbox.read("node_modules/dep/index.js"))).toContain("dep");
          expect(text(await sandbox.read("/etc/passwd"))).toContain("root");
          expect(await sandbox.stat("/usr/bin")).toMatchObject({ type: "directory" });
        }));

      it("refuse with POSIX codes", () =>
        within(async (sandbox) => {
          await bash(sandbox, "mkfifo pipe; ln -s loop loop; ln -s index.js/x through");
          await expect(sandbox.read("absent")).rejects.toMatchObject({ code: "ENOENT" });
          await expect(sandbox.read("/absent")).rejects.toMatchObject({ code: "ENOENT" });
          await expect(sandbox.read("lib")).rejects.toMatchObject({ code: "EISDIR" });
          await expect(sandbox.read("/etc")).rejects.toMatchObject({ code: "EISDIR" });
          await expect(sandbox.read("pipe")).rejects.toMatchObject({ code: "EINVAL" });
          await expect(sandbox.read("loop")).rejects.toMatchObject({ code: "ELOOP" });
          await expect(sandbox.read("through")).rejects.toMatchObject({ code: "ENOTDIR" });
          await expect(sandbox.read("a\0b")).rejects.toMatchObject({ code: "EINVAL" });
          await expect(sandbox.write("lib", bytes(""))).rejects.toMatchObject({ code: "EISDIR" });
          await expect(sandbox.write("index.js/x", bytes(""))).rejects.toMatchObject({ code: "ENOTDIR" });
          await expect(sandbox.write("node_modules/x", bytes(""))).rejects.toMatchObject({ code: "EROFS" });
          await expect(sandbox.write("/usr/x", bytes(""))).rejects.toMatchObject({ code: "EROFS" });
          expect(await sandbox.stat("pipe")).toMatchObject({ type: "other" });
        }));

      it("may have odd names and any bytes", () =>
        within(async (sandbox) => {
          const names = [
            "new\nline",
            "-dash",
            " space ",
            "quo'te\"",
            "üñí",
            "a\\b",
            "$HOME",
            "x".repeat(200),
          ];
          for (const name of names) await sandbox.write(`odd/${name}`, bytes(name));
          await sandbox.write("binary", Uint8Array.from([0, 255, 10, 13, 128]));
          expect((await sandbox.list("odd")).map((entry) => entry.path.slice(4)).sort()).toEqual(
            [...names].sort(),
          );
          for (const name of names) expect(text(await sandbox.read(`odd/${name}`))).toBe(name);
          expect([...(await sandbox.read("binary"))]).toEqual([0, 255, 10, 13, 128]);
          const changes = await sandbox.changes();
          expect(changes.map((change) => change.path)).toEqual(
            [...names.map((n) => `odd/${n}`), "binary"].sort(),
          );
          expect(changes.find((change) => change.path === "binary")).toMatchObject({ encoding: "base64" });
        }));

      it("may be ten thousand", () =>
        within(
          async (sandbox) => {
            await bash(sandbox, "mkdir many; cd many; for i in $(seq 10000); do echo $i > $i; done");
            expect((await sandbox.list("many")).length).toBe(10_000);
            expect((await sandbox.changes()).length).toBe(10_000);
          },
          { limits: { memoryMb: 256, processes: 32, diskMb: 200 } },
        ));

      it("that were given are the overlay's", () =>
        within(
          async (sandbox) => {
            expect(text((await bash(sandbox, "cat lib/a.js; ls; ls -l run; readlink link")).stdout)).toMatch(
              /^new\nindex.js\nlib\nlink\nnode_modules\nrun\n-rwx.*run\nlib\/a.js\n$/,
            );
            expect(await sandbox.changes()).toEqual([]);
          },
          {
            overlay: [
              { kind: "write", path: "lib/a.js", content: "new\n", encoding: "utf8" },
              { kind: "write", path: "run", content: "aGk=", encoding: "base64", executable: true },
              { kind: "symlink", path: "link", target: "lib/a.js" },
              { kind: "delete", path: "not-there" },
            ],
          },
        ));

      it.each(["../out", "/abs", "a/../../b", "node_modules/x", "node_modules", "", "a//b"])(
        "are not given by an overlay at %j",
        async (path) => {
          const overlay: FileChange[] = [{ kind: "write", path, content: "", encoding: "utf8" }];
          await expect(runtime.create(specify({ overlay }), identify())).rejects.toMatchObject({
            kind: "path",
          });
        },
      );
    });

    describe("changes", () => {
      it("are what was written, deleted, linked and made executable, without mounts", () =>
        within(async (sandbox) => {
          const before = await sandbox.treeHash();
          expect(await sandbox.changes()).toEqual([]);
          await bash(
            sandbox,
            "echo x > b.js; rm index.js; ln -s b.js l; chmod +x lib/a.js; mkdir empty; echo y > node_modules/y; mkfifo p",
          );
          expect(await sandbox.changes()).toEqual([
            { kind: "write", path: "b.js", content: "x\n", encoding: "utf8" },
            { kind: "delete", path: "index.js" },
            { kind: "symlink", path: "l", target: "b.js" },
            {
              kind: "write",
              path: "lib/a.js",
              content: "module.exports = 2;\n",
              encoding: "utf8",
              executable: true,
            },
          ]);
          expect(await sandbox.treeHash()).not.toBe(before);
          await bash(
            sandbox,
            "rm -r b.js l empty p; printf 'module.exports = 1;\\n' > index.js; chmod -x lib/a.js",
          );
          expect(await sandbox.changes()).toEqual([]);
          expect(await sandbox.treeHash()).toBe(before);
        }));

      it("are seen when neither size nor modification time tells", () =>
        within(async (sandbox) => {
          await sandbox.changes();
          await bash(
            sandbox,
            "touch -r index.js /tmp/t; printf 'module.exports = 9;\\n' > index.js; touch -r /tmp/t index.js",
          );
          expect((await sandbox.changes()).map((change) => change.path)).toEqual(["index.js"]);
        }));

      it("survive a folder that became a file and a file that became a folder", () =>
        within(async (sandbox) => {
          await bash(
            sandbox,
            "rm -r lib; echo file > lib; rm index.js; mkdir index.js; echo in > index.js/in",
          );
          const changes = await sandbox.changes();
          expect(changes.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
            "delete index.js",
            "write index.js/in",
            "write lib",
            "delete lib/a.js",
          ]);
          // The change, given to a new sandbox, makes the same tree.
          await within(async (other) => expect(await other.treeHash()).toBe(await sandbox.treeHash()), {
            overlay: changes,
          });
        }));

      it("give the tree hash of the same tree made on the host", () =>
        within(async (sandbox) => {
          await bash(sandbox, "echo z > z; ln -s z y; chmod +x z; rm lib/a.js");
          const copy = mkdtempSync(join(folder, "copy-"));
          applyChanges(copy, [
            { kind: "write", path: "index.js", content: "module.exports = 1;\n", encoding: "utf8" },
            ...(await sandbox.changes()),
          ]);
          expect(hashManifest(await scanTree(copy))).toBe(await sandbox.treeHash());
        }));
    });

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

    it("says that it can run here", async () => {
      expect(await runtime.unavailable()).toBeNull();
    });
  });
}
