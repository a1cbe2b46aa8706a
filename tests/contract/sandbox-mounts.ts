/** What a sandbox promises about mounts beside its own files, as tests lie beside sources. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { FileChange } from "../../core/task.ts";
import { SandboxError } from "../../services/sandbox/index.ts";
import { type Bench, text } from "./sandbox-bench.ts";

export function mountsContract({ name, within, bash, folder }: Bench): void {
  const root = join(folder, "tests beside sources");
  const files = ["lib/a.test.js", "lib/it's deep/b c.test.js"];
  const mounts = files.map((path) => ({ source: join(root, path), target: `/repo/${path}` }));
  mkdirSync(join(root, "lib/it's deep"), { recursive: true });
  for (const path of [...files, "lib/a.js", "lib/it's deep/b.js"])
    writeFileSync(join(root, path), `${path}\n`);

  describe("a mounted file beside sources", () => {
    it("leaves its folder writable, and can neither be written nor put aside", () =>
      within(
        async (sandbox) => {
          expect(await sandbox.changes()).toEqual([]);
          const written = await bash(
            sandbox,
            `set -e; cd lib; [ -O . ]; [ -O "it's deep" ]; echo new > new.js; echo changed > a.js; rm "it's deep/b.js"; chmod 700 .; chmod 755 .`,
          );
          expect([text(written.stderr), written.exitCode]).toEqual(["", 0]);
          for (const path of files)
            for (const command of [
              'echo x > "$f"',
              'rm -f "$f"',
              'mv "$f" lib/x',
              'mv -f lib/new.js "$f"',
              'ln -sf /tmp "$f"',
              'chmod 777 "$f"',
              'rm -rf "$(dirname "$f")"',
            ]) {
              const { exitCode } = await bash(sandbox, `f="${path}"; echo new > lib/new.js; ${command}`);
              expect(exitCode, command).not.toBe(0);
              expect(text(await sandbox.read(path))).toBe(`${path}\n`);
            }
        },
        { root, mounts },
      ));

    it("is no part of the changes", () =>
      within(
        async (sandbox) => {
          await bash(sandbox, `echo changed > lib/a.js; echo new > "lib/it's deep/new.js"`);
          expect((await sandbox.changes()).map(({ kind, path }) => `${kind} ${path}`)).toEqual([
            "write lib/a.js",
            "write lib/it's deep/new.js",
          ]);
        },
        { root, mounts },
      ));

    it("leaves no capability to a command, and none to be had", () =>
      within(
        async (sandbox) => {
          const { stdout } = await bash(
            sandbox,
            "grep -E '^(Cap|NoNewPrivs|Groups)' /proc/self/status; id -u; id -g",
          );
          expect(text(stdout)).toMatch(
            /CapPrm:\t0{16}\nCapEff:\t0{16}\nCapBnd:\t0{16}\nCapAmb:\t0{16}\nNoNewPrivs:\t1\n/,
          );
          expect(text(stdout)).toMatch(/\n1000\n1000\n$/);
        },
        { root, mounts },
      ));

    it.each(["mkdir lib; cp away/a.js lib; echo fake > lib/a.test.js", "ln -s away lib", ":"])(
      "is still itself for the next command, or there is none, after its folder was moved away: %s",
      (then) =>
        within(
          async (sandbox) => {
            expect((await bash(sandbox, `mv lib away; ${then}`)).exitCode).toBe(0);
            const seen = await bash(sandbox, "cat lib/a.test.js").then(
              ({ stdout }) => text(stdout),
              (error: unknown) => (error instanceof SandboxError ? error.kind : String(error)),
            );
            // A container's mounts stay where a command moved them; the process runtime mounts anew, but through no link.
            const refused = name === "docker" || then.startsWith("ln");
            expect(seen).toBe(refused ? "path" : "lib/a.test.js\n");
          },
          { root, mounts },
        ),
    );

    it.each<FileChange>([
      { kind: "symlink", path: "lib", target: "/tmp" },
      { kind: "write", path: "lib", content: "", encoding: "utf8" },
    ])("needs its folder: no command runs where an overlay puts a $kind in its place", (change) => {
      const files = ["lib/a.js", "lib/it's deep/b.js"].map((path): FileChange => ({ kind: "delete", path }));
      const run = within((sandbox) => bash(sandbox, "cat lib/a.test.js"), {
        root,
        mounts,
        overlay: [...files, change],
      });
      return expect(run).rejects.toMatchObject({ name: "SandboxError", kind: "path" });
    });

    it("lets a command be called off at once", () =>
      within(
        async (sandbox) => {
          await bash(sandbox, "true");
          const controller = new AbortController();
          const running = bash(sandbox, "sleep 60", { signal: controller.signal });
          controller.abort(new Error("called off"));
          await expect(running).rejects.toThrow("called off");
          expect((await bash(sandbox, "true")).exitCode).toBe(0);
        },
        { root, mounts },
      ));

    it("may have its folder moved and moved back", () =>
      within(
        async (sandbox) => {
          await bash(sandbox, "mv lib away; mv away lib");
          expect(text((await bash(sandbox, "cat lib/*.test.js")).stdout)).toBe("lib/a.test.js\n");
        },
        { root, mounts },
      ));
  });
}
