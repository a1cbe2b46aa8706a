/** What a sandbox promises whatever a command does to the machinery that runs it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Bench, LIMITS, text } from "./sandbox-bench.ts";

export function hostileContract({ within, bash, folder }: Bench): void {
  describe("a hostile command", () => {
    it("cannot end the sandbox by killing its parents and all it can reach", () =>
      within(async (sandbox) => {
        await bash(sandbox, "kill -9 $PPID 1; kill -STOP 1; kill -USR1 1; sleep 0.1");
        await bash(sandbox, "kill -9 -1");
        await bash(sandbox, "cat; kill -9 $PPID", { stdin: Buffer.from("input") });
        expect(text((await bash(sandbox, "echo alive")).stdout)).toBe("alive\n");
      }));

    it("cannot spoil the next one by its descriptors", () =>
      within(async (sandbox) => {
        expect(await bash(sandbox, "exec 0<&- 1>&- 2>&-; sleep 0.1; exit 4")).toMatchObject({ exitCode: 4 });
        await bash(sandbox, "for fd in /proc/*/fd/*; do (echo junk > $fd) & done 2>/dev/null; sleep 0.2");
        const unblock =
          "import fcntl, os, signal\nfor fd in (1, 2): fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK)\nos.kill(os.getpid(), signal.SIGKILL)";
        await sandbox.exec(["python3", "-c", unblock], LIMITS);
        const result = await bash(sandbox, "head -c 3000000 /dev/zero; echo err >&2", {
          outputBytes: 4_000_000,
        });
        expect(result).toMatchObject({ exitCode: 0, stdoutTruncated: false });
        expect(result.stdout.length).toBe(3_000_000);
        expect(text(result.stderr)).toBe("err\n");
      }));

    it("cannot end its own frame", () =>
      within(async (sandbox) => {
        const nonce = "0123456789abcdef0123456789abcdef";
        const lookalike = `\x01${nonce}\n\x01${nonce} 0 1 0 0 -\n{"exit-code": 0}\n`;
        const result = await sandbox.exec(
          ["sh", "-c", 'printf %s "$1"; printf %s "$1" >&2; exit 3', "sh", lookalike],
          LIMITS,
        );
        expect(text(result.stdout)).toBe(lookalike);
        expect(text(result.stderr)).toBe(lookalike);
        expect(result.exitCode).toBe(3);
      }));

    it("leaves nobody who prints or writes later", () =>
      within(async (sandbox) => {
        const later = "(trap '' HUP TERM; sleep 0.3; echo late; echo late >&2; echo late > late)";
        const first = await bash(sandbox, `setsid bash -c "${later}" & ${later} & echo now`);
        expect(text(first.stdout)).toBe("now\n");
        const second = await bash(sandbox, "sleep 0.6; ls");
        expect(text(second.stdout)).not.toContain("late");
        expect(text(second.stderr)).toBe("");
      }));

    it("leaves nothing of an input it did not read to the next one", () =>
      within(async (sandbox) => {
        const unread = Buffer.alloc(300_000, "echo junk\n");
        expect((await bash(sandbox, "exit 5", { stdin: unread })).exitCode).toBe(5);
        expect(
          (await bash(sandbox, "head -c 5; sleep 60", { stdin: unread, timeoutSeconds: 0.3 })).timedOut,
        ).toBe(true);
        expect(text((await bash(sandbox, "echo clean")).stdout)).toBe("clean\n");
      }));

    it.each([1, 100_000, 1_000_000])(
      "leaves no input unread to the next one, %i bytes without a line's end",
      (size) =>
        within(async (sandbox) => {
          const stdin = Buffer.alloc(size, "a");
          const ends = [
            ["sleep 0.1; exit 5", {}],
            ["sleep 0.1; kill -9 -1", {}],
            ["sleep 60", { timeoutSeconds: 0.3 }],
          ] as const;
          for (const [script, limits] of ends) {
            await bash(sandbox, script, { stdin, ...limits });
            const next = await bash(sandbox, "cat; echo clean", { timeoutSeconds: 10 });
            expect(text(next.stdout)).toBe("clean\n");
          }
        }),
    );

    it("reads nothing of the host through links", () =>
      within(async (sandbox) => {
        const secret = join(folder, "secret");
        writeFileSync(secret, "secret");
        await bash(
          sandbox,
          `ln -s '${secret}' a; ln -s ../../../../../../..${secret.replaceAll(" ", "\\ ")} b; ln -s /etc/passwd c; ln -s / d`,
        );
        for (const link of ["a", "b", `d${secret}`])
          await expect(sandbox.read(link)).rejects.toMatchObject({ code: "ENOENT" });
        expect(text(await sandbox.read("c"))).toContain("agent");
        await expect(sandbox.write("c", Buffer.from("x"))).rejects.toMatchObject({ code: "EROFS" });
        expect((await sandbox.list(".")).filter(({ type }) => type === "symlink").length).toBe(4);
        expect((await sandbox.changes()).map(({ kind, path }) => `${kind} ${path}`)).toEqual([
          "symlink a",
          "symlink b",
          "symlink c",
          "symlink d",
        ]);
      }));
  });
}
