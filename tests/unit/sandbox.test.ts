/** Trees, changes, path resolution and the command line of the process sandbox. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { FileChange } from "../../core/task.ts";
import {
  applyChanges,
  applyToManifest,
  changesBetween,
  hashManifest,
  type SandboxError,
  scanTree,
} from "../../services/sandbox/index.ts";
import { commandEnv } from "../../services/sandbox/inside.ts";
import { bwrapArguments } from "../../services/sandbox/process/command.ts";
import { useOfTree } from "../../services/sandbox/process/watch.ts";
import { encode } from "../../services/sandbox/tree/change.ts";
import { type Root, resolvePath } from "../../services/sandbox/tree/resolve.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandbox-unit-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (path: string, content: string, executable?: boolean): FileChange => ({
  kind: "write",
  path,
  content,
  encoding: "utf8",
  ...(executable && { executable }),
});

describe("changes of a tree", () => {
  /** Few names, so that files, folders and links meet. */
  const path = fc
    .array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 })
    .map((parts) => parts.join("/"));
  const content = fc.constantFrom("", "x\n", "yy");
  const tree = fc.uniqueArray(
    fc.oneof(
      fc
        .record({ path, content, executable: fc.boolean() })
        .map((file) => write(file.path, file.content, file.executable)),
      fc.record({ kind: fc.constant("symlink" as const), path, target: fc.constantFrom("a", "/etc", "..") }),
    ),
    { maxLength: 6, selector: (change) => change.path },
  );
  /** A tree that exists: no file is another's folder. */
  const possible = (changes: readonly FileChange[]) =>
    changes.filter(({ path: inner }) => !changes.some((other) => inner.startsWith(`${other.path}/`)));

  it("lead from any tree to any other, on disk and in the manifest", async () => {
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(tree, tree, async (first, second) => {
        const [from, to] = [`${folder}/${runs++}`, `${folder}/${runs++}`];
        mkdirSync(from);
        mkdirSync(to);
        applyChanges(from, possible(first));
        applyChanges(to, possible(second));
        const [given, wanted] = [await scanTree(from), await scanTree(to)];
        const changes = changesBetween(given, wanted, to);
        applyChanges(from, changes);
        expect(hashManifest(await scanTree(from))).toBe(hashManifest(wanted));
        expect(hashManifest(applyToManifest(given, changes))).toBe(hashManifest(wanted));
      }),
      { numRuns: 60 },
    );
  });

  it("apply to the manifest exactly when they apply to the folder", async () => {
    const change = fc.oneof(
      fc.record({ path, content }).map((file) => write(file.path, file.content)),
      fc.record({ kind: fc.constant("delete" as const), path }),
      fc.record({ kind: fc.constant("symlink" as const), path, target: fc.constant("a") }),
    );
    const set = fc.uniqueArray(change, { maxLength: 4, selector: ({ path: unique }) => unique });
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(tree, set, async (first, changes) => {
        const root = `${folder}/${runs++}`;
        mkdirSync(root);
        applyChanges(root, possible(first));
        const given = await scanTree(root);
        const outcome = (act: () => unknown) => {
          try {
            act();
            return "applied";
          } catch (error) {
            return (error as SandboxError).kind;
          }
        };
        const onDisk = outcome(() => applyChanges(root, changes));
        expect(outcome(() => applyToManifest(given, changes))).toBe(onDisk);
        if (onDisk !== "applied") return;
        expect(hashManifest(applyToManifest(given, changes))).toBe(hashManifest(await scanTree(root)));
      }),
      {
        numRuns: 120,
        examples: [
          [
            [write("b/a", "")],
            [
              { kind: "delete", path: "b/a" },
              { kind: "delete", path: "b" },
            ],
          ],
        ],
      },
    );
  });

  it("do not pass through links or files", () => {
    mkdirSync(join(folder, "outside"));
    mkdirSync(join(folder, "tree"));
    symlinkSync("../outside", join(folder, "tree", "link"));
    writeFileSync(join(folder, "tree", "file"), "");
    expect(() => applyChanges(join(folder, "tree"), [write("link/x", "")])).toThrow("not a folder");
    expect(() => applyChanges(join(folder, "tree"), [write("file/x", "")])).toThrow("not a folder");
    writeFileSync(join(folder, "outside", "kept"), "");
    applyChanges(join(folder, "tree"), [{ kind: "delete", path: "link/kept" }]);
    applyChanges(join(folder, "tree"), [write("link", "a file now")]);
    expect(readdirSync(join(folder, "outside"))).toEqual(["kept"]);
  });

  it("change a whole folder only file by file", () => {
    mkdirSync(join(folder, "d"));
    writeFileSync(join(folder, "d", "x"), "");
    expect(() => applyChanges(folder, [{ kind: "delete", path: "d" }])).toThrow("names a folder");
    expect(() => applyChanges(folder, [write("d", "")])).toThrow("in the way");
    applyChanges(folder, [{ kind: "delete", path: "d/x" }, write("d", "file")]);
  });

  it("keep any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (content) => {
        const change = encode(content);
        expect([...Buffer.from(change.content, change.encoding)]).toEqual([...content]);
      }),
    );
    expect(encode(Buffer.from("\ufeffü\n")).encoding).toBe("utf8");
    expect(encode(Uint8Array.of(255)).encoding).toBe("base64");
  });
});

describe("the hash of a tree", () => {
  it("tells content, name, mode and kind apart, and nothing else", async () => {
    const hashes = new Set<string>();
    const variants: FileChange[][] = [
      [write("a", "1")],
      [write("a", "2")],
      [write("b", "1")],
      [write("a", "1", true)],
      [{ kind: "symlink", path: "a", target: "1" }],
      [write("a", "1"), write("b", "1")],
      [],
    ];
    for (const [index, changes] of variants.entries()) {
      mkdirSync(`${folder}/${index}`);
      applyChanges(`${folder}/${index}`, changes);
      hashes.add(hashManifest(await scanTree(`${folder}/${index}`)));
    }
    expect(hashes.size).toBe(variants.length);
    mkdirSync(`${folder}/0/empty`);
    expect(hashes.has(hashManifest(await scanTree(`${folder}/0`)))).toBe(true);
  });
});

describe("resolvePath", () => {
  let roots: Root[];
  beforeEach(() => {
    for (const name of ["tree/sub", "tmp", "modules/dep"]) mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, "tree", "file"), "");
    writeFileSync(join(folder, "secret"), "");
    roots = [
      { at: "/repo", host: `${folder}/tree`, writable: true },
      { at: "/tmp", host: `${folder}/tmp`, writable: true },
      { at: "/repo/node_modules", host: `${folder}/modules`, writable: false },
    ];
  });
  const resolve = (path: string) => resolvePath(roots, "/repo", path);
  const link = (at: string, target: string) => symlinkSync(target, `${folder}/tree/${at}`);

  it.each([
    ["file", "/repo/file"],
    ["/repo/sub/../file", "/repo/file"],
    ["./sub//.", "/repo/sub"],
    ["/tmp/../repo/file", "/repo/file"],
    ["node_modules/dep", "/repo/node_modules/dep"],
  ])("%s lies at %s", (path, inside) => {
    expect(resolve(path)).toMatchObject({ kind: "host", inside, missing: 0 });
  });

  it("sends to the mount what lies under it", () => {
    expect(resolve("node_modules/dep")).toMatchObject({
      host: `${folder}/modules/dep`,
      root: { writable: false },
    });
  });

  it("counts the parts that are not there", () => {
    expect(resolve("sub/x/y/z")).toMatchObject({ missing: 3, host: `${folder}/tree/sub/x/y/z` });
    expect(() => resolve("sub/x/../../file")).toThrow("ENOENT");
  });

  it("follows links as the sandbox sees them, never to the host", () => {
    link("up", "../secret");
    link("far", "../../../../../../secret");
    link("host", `${folder}/secret`);
    link("abs", "/repo/sub");
    link("tmp", "/tmp");
    link("hop", "sub/../tmp/x");
    expect(resolve("up")).toEqual({ kind: "outside", inside: "/secret" });
    expect(resolve("far")).toEqual({ kind: "outside", inside: "/secret" });
    const host = resolve("host");
    expect(host).toMatchObject({ inside: `${folder}/secret` });
    if (host.kind === "host") expect(host.host.startsWith(`${folder}/tmp/`)).toBe(true);
    expect(resolve("abs")).toMatchObject({ inside: "/repo/sub" });
    expect(resolve("hop")).toMatchObject({ inside: "/tmp/x", missing: 1 });
    expect(resolve("/etc/passwd")).toEqual({ kind: "outside", inside: "/etc/passwd" });
  });

  it("gives up on loops, on files used as folders, and on NUL", () => {
    link("loop", "loop");
    expect(() => resolve("loop")).toThrow("ELOOP");
    expect(() => resolve("file/x")).toThrow("ENOTDIR");
    expect(() => resolve("file/")).toThrow("ENOTDIR");
    expect(() => resolve("a\0b")).toThrow("EINVAL");
  });

  it("ends inside a root or outside all, whatever the links", () => {
    const part = fc.constantFrom("..", ".", "sub", "file", "l0", "l1", "l2", "x", "");
    const target = fc
      .array(part, { minLength: 1, maxLength: 4 })
      .chain((parts) =>
        fc.constantFrom(parts.join("/") || ".", `/${parts.join("/")}`, `/tmp/${parts.join("/")}`),
      );
    fc.assert(
      fc.property(
        fc.array(target, { minLength: 3, maxLength: 3 }),
        fc.array(part, { maxLength: 6 }),
        (targets, parts) => {
          rmSync(`${folder}/tree`, { recursive: true, force: true });
          mkdirSync(`${folder}/tree/sub`, { recursive: true });
          writeFileSync(`${folder}/tree/file`, "");
          for (const [index, to] of targets.entries()) link(`l${index}`, to);
          try {
            const place = resolve(parts.join("/"));
            if (place.kind !== "host") return;
            expect(place.host === place.root.host || place.host.startsWith(`${place.root.host}/`)).toBe(true);
            expect(place.host.split("/")).not.toContain("..");
          } catch (error) {
            expect((error as { code?: string }).code).toMatch(/^(ENOENT|ENOTDIR|ELOOP)$/);
          }
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe("the command line", () => {
  const system = {
    ...{ bwrap: "bwrap", node: "/n", etc: "/e", empty: "/m", local: "/l", masked: ["/usr/local"] },
    top: [{ path: "/bin", link: "usr/bin" }],
  };
  const limits = { sandbox: { memoryMb: 1, processes: 1, diskMb: 1 }, exec: { cpuSeconds: 1.2 } };

  it("ends with the command, after everything that shuts it in", () => {
    const args = bwrapArguments(system, { tree: "/t", tmp: "/p" }, [], 3, limits, ["--bind", "/", "x"]);
    expect(args.slice(args.indexOf("--"), args.indexOf("--") + 3)).toEqual(["--", "/bin/sh", "-c"]);
    expect(args.slice(-3)).toEqual(["--bind", "/", "x"]);
    for (const flag of [
      "--unshare-all",
      "--disable-userns",
      "--die-with-parent",
      "--new-session",
      "--cap-drop",
    ])
      expect(args.indexOf(flag)).toBeLessThan(args.indexOf("--"));
    expect(args.join(" ")).toContain("ulimit -S -t 2\nulimit -H -t 3\n");
  });

  it("lets a spec add variables and change PATH", () => {
    expect(commandEnv({ env: { PATH: "/x", A: "1" } })).toMatchObject({ PATH: "/x", A: "1", TZ: "UTC" });
  });
});

describe("useOfTree", () => {
  it("sees this process and stops at enough", () => {
    const use = useOfTree(process.pid, 1);
    expect(use.processes).toBe(1);
    expect(use.memoryBytes).toBeGreaterThan(1e6);
    expect(use.cpuSeconds).toBeGreaterThan(0);
    expect(useOfTree(2 ** 22 + 1, 9)).toEqual({ processes: 0, memoryBytes: 0, cpuSeconds: 0 });
  });
});
