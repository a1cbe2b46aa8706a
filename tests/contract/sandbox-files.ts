/** What a sandbox promises of files and changes. */
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { FileChange } from "../../core/task.ts";
import { applyChanges, hashManifest, scanTree } from "../../services/sandbox/index.ts";
import { type Bench, bytes, text } from "./sandbox-bench.ts";

export function filesContract(bench: Bench): void {
  const { within, bash, runtime, specify, identify, folder } = bench;
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
        const names = ["new\nline", "-dash", " space ", "quo'te\"", "üñí", "a\\b", "$HOME", "x".repeat(200)];
        for (const name of names) await sandbox.write(`odd/${name}`, bytes(name));
        await sandbox.write("-", bytes("dash"));
        expect(text(await sandbox.read("-"))).toBe("dash");
        await sandbox.write("binary", Uint8Array.from([0, 255, 10, 13, 128]));
        expect((await sandbox.list("odd")).map((entry) => entry.path.slice(4)).sort()).toEqual(
          [...names].sort(),
        );
        for (const name of names) expect(text(await sandbox.read(`odd/${name}`))).toBe(name);
        expect([...(await sandbox.read("binary"))]).toEqual([0, 255, 10, 13, 128]);
        const changes = await sandbox.changes();
        expect(changes.map((change) => change.path)).toEqual(
          [...names.map((n) => `odd/${n}`), "binary", "-"].sort(),
        );
        expect(changes.find((change) => change.path === "-")).toMatchObject({ content: "dash" });
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
        await bash(sandbox, "rm -r lib; echo file > lib; rm index.js; mkdir index.js; echo in > index.js/in");
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

    it("carry any bytes and modes into another sandbox", () =>
      within(async (sandbox) => {
        const all = Uint8Array.from({ length: 70_000 }, (_, index) => index % 256);
        await sandbox.write("deep/all", all);
        await sandbox.write("empty", new Uint8Array());
        await sandbox.write("index.js", all.subarray(0, 300));
        await bash(sandbox, "chmod 755 deep/all; chmod 600 empty; ln -s nowhere lib/dangling");
        const overlay = await sandbox.changes();
        await within(
          async (other) => {
            expect(Buffer.from(await other.read("deep/all")).equals(Buffer.from(all))).toBe(true);
            expect((await bash(other, "test -x deep/all && readlink lib/dangling")).exitCode).toBe(0);
            expect(await other.treeHash()).toBe(await sandbox.treeHash());
            expect(await other.changes()).toEqual([]);
          },
          { overlay },
        );
      }));

    it("leave out names that are not UTF-8, and are looked at anew after every command", () =>
      within(async (sandbox) => {
        const before = await sandbox.treeHash();
        await bash(
          sandbox,
          "touch $(printf 'a\\377b'); mkdir $(printf 'd\\377'); touch $(printf 'd\\377')/x",
        );
        expect(await sandbox.changes()).toEqual([]);
        expect(await sandbox.treeHash()).toBe(before);
        for (const content of ["one", "two", "six"]) {
          await bash(sandbox, `printf ${content} > same`);
          expect(await sandbox.changes()).toMatchObject([{ path: "same", content }]);
        }
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
}
