/** What a sandbox promises of commands. */
import { describe, expect, it } from "vitest";
import { type Bench, bytes, LIMITS, text } from "./sandbox-bench.ts";

export function commandsContract(bench: Bench): void {
  const { within, bash } = bench;
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
      // Also names that a shell program of the runtime's own might use.
      const env = { ANSWER: "42", LC_ALL: "C", key: "k", nonce: "n", count: "5", newline: "l", code: "c" };
      process.env.TADPOLE_CONTRACT_SECRET = "secret";
      try {
        await within(
          async (sandbox) => {
            const { stdout } = await bash(sandbox, "env");
            for (const [name, value] of Object.entries(env))
              expect(text(stdout)).toContain(`${name}=${value}\n`);
            expect(text(stdout)).not.toContain("SECRET");
          },
          { env },
        );
      } finally {
        delete process.env.TADPOLE_CONTRACT_SECRET;
      }
    });

    it("have one environment, clock zone and locale, the same on every runtime", () =>
      within(async (sandbox) => {
        const { stdout } = await sandbox.exec(["env"], LIMITS);
        expect(text(stdout).trim().split("\n").sort()).toEqual([
          "HOME=/tmp",
          "LANG=C.UTF-8",
          "NODE_OPTIONS=--require=/usr/local/bin/.repeatable.cjs",
          "PATH=/usr/local/bin:/usr/bin:/bin",
          "PWD=/repo",
          "TERM=dumb",
          "TZ=UTC",
        ]);
        const script =
          "date +%Z; printf 'b\\nä\\nB\\na\\n' | sort; locale charmap; id; umask; hostname; pwd -P";
        expect(text((await bash(sandbox, script)).stdout)).toBe(
          "UTC\nB\na\nb\nä\nUTF-8\nuid=1000(agent) gid=1000(agent) groups=1000(agent)\n0022\nsandbox\n/repo\n",
        );
        const node = "console.log(Intl.DateTimeFormat().resolvedOptions().timeZone, process.execPath)";
        expect(text((await sandbox.exec(["node", "-e", node], LIMITS)).stdout)).toBe(
          "UTC /usr/local/bin/node\n",
        );
      }));

    it("may be any words", () =>
      within(async (sandbox) => {
        const words = [
          "",
          " ",
          "'",
          '"',
          "\\",
          "\n",
          "a\n\nb",
          "$(id)",
          "`id`",
          "-n",
          "ā Ĉ \u{1f438}",
          "*",
          "x".repeat(50_000),
        ];
        const result = await sandbox.exec(["printf", "%s\\0", ...words], LIMITS);
        expect(text(result.stdout).split("\0").slice(0, -1)).toEqual(words);
        await expect(sandbox.exec(["a\0b"], LIMITS)).rejects.toMatchObject({ kind: "path" });
        await expect(sandbox.exec([], LIMITS)).rejects.toMatchObject({ kind: "path" });
      }));

    it("get the given input, and an empty one otherwise", () =>
      within(async (sandbox) => {
        expect(text((await bash(sandbox, "cat", { stdin: bytes("hello") })).stdout)).toBe("hello");
        expect(text((await bash(sandbox, "cat; echo end")).stdout)).toBe("end\n");
      }));

    it("pass any bytes in and out", () =>
      within(async (sandbox) => {
        const stdin = Buffer.from(Uint8Array.from({ length: 70_000 }, (_, at) => (at * 7 + (at >> 8)) % 256));
        const result = await bash(sandbox, "cat > any; cat any; cat any >&2", { stdin });
        expect(Buffer.from(result.stdout).equals(stdin)).toBe(true);
        expect(Buffer.from(result.stderr).equals(stdin)).toBe(true);
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
}
