/** What comes of an archive of the agent's box: nothing of it reaches beyond its own folder, whatever it says. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { ARTIFACT_LIMITS, type Artifact, artifactOf, isTooLarge } from "../../services/grading/artifacts.ts";
import { type TarEntry, tar } from "../../services/sandbox/index.ts";

const folder = mkdtempSync(join(tmpdir(), "grading-artifacts-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = (path: string, text = "x"): TarEntry => ({
  type: "file",
  path,
  content: Buffer.from(text),
  executable: false,
});
const link = (path: string, target: string): TarEntry => ({ type: "symlink", path, target });
const directory = (path: string): TarEntry => ({ type: "directory", path });

const paths = (entries: readonly TarEntry[], source = "/app/out", kind: "folder" | "file" = "folder") =>
  artifactOf(source, kind, Buffer.concat([...tar(entries)])).entries.map(({ path }) => path);

/** Undefined where a link leads nowhere, or round and round. */
function reached(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

describe("a folder's archive", () => {
  it("as tar makes it: folders first, links last, pipes left out", () => {
    const root = join(folder, "real");
    mkdirSync(join(root, "empty"), { recursive: true });
    mkdirSync(join(root, "b"));
    writeFileSync(join(root, "b/run.sh"), "true", { mode: 0o755 });
    symlinkSync("b/run.sh", join(root, "a"));
    symlinkSync("../a", join(root, "b/up"));
    symlinkSync("/etc/passwd", join(root, "out"));
    execFileSync("mkfifo", [join(root, "pipe")]);
    const archive = execFileSync("tar", ["-C", root, "--hard-dereference", "-cf", "-", "."]);
    const { entries } = artifactOf("/app/out", "folder", archive);
    expect(entries.map(({ type, path }) => [type, path])).toEqual([
      ["directory", "app/out/b"],
      ["directory", "app/out/empty"],
      ["file", "app/out/b/run.sh"],
      ["symlink", "app/out/a"],
      ["symlink", "app/out/b/up"],
    ]);
    expect(entries[2]).toMatchObject({ executable: true, content: Buffer.from("true") });
  });

  it.each([
    ["an absolute name", [file("/tests/test.sh")]],
    ["a name that leads out", [file("../tests/test.sh")]],
    ["a name that leads out later", [file("a/../../x")]],
    ["a link to an absolute path", [link("a", "/tests/expected")]],
    ["a link that leads out", [link("a", "../expected")]],
    ["a link that leads out from below", [directory("b"), link("b/a", "../../expected")].slice(1)],
    ["a file behind a link", [file("a/b")]],
    ["a name that is no UTF-8", [file("\uFFFD")]],
    ["a name that no file can have", [file("n".repeat(256))]],
  ])("loses %s", (what, entries) => {
    const behind = what === "a file behind a link" ? [directory("b"), link("a", "b")] : [];
    expect(paths([...behind, ...entries])).toEqual(behind.map(({ path }) => `app/out/${path}`));
  });

  it("loses a link whose way up begins behind another link", () => {
    expect(
      paths([link("here", "."), link("out", "here/../../tests/expected"), link("up", "here/..")]),
    ).toEqual(["app/out/here"]);
  });

  it("never leads out, as the file system sees it", () => {
    const name = fc.constantFrom("a", "b", "c");
    const part = fc.constantFrom("a", "b", "c", ".", "..", "");
    const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
    const entry = fc.oneof(
      path.map((one) => file(one)),
      path.map((one) => directory(one)),
      fc
        .tuple(path, fc.array(part, { minLength: 1, maxLength: 5 }))
        .map(([one, to]) => link(one, to.join("/"))),
    );
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 8 }), (entries) => {
        const box = mkdtempSync(join(folder, "box-"));
        const kept = artifactOf("/out", "folder", Buffer.concat([...tar(entries)]));
        // What a way out would find.
        for (const path of ["out", "a/a", "a/b", "b/a", "b/c", "c/b"])
          mkdirSync(join(box, path), { recursive: true });
        execFileSync("tar", ["-C", box, "-xmof", "-"], { input: Buffer.concat([...tar(kept.entries)]) });
        for (const found of kept.entries) {
          if (found.type !== "symlink") continue;
          const leads = reached(join(box, found.path));
          expect(leads === undefined || `${leads}/`.startsWith(`${box}/out/`)).toBe(true);
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe("a file's archive", () => {
  it("is that file alone", () => {
    expect(paths([file("out"), file("other"), directory("out2")], "/app/out", "file")).toEqual(["app/out"]);
    expect(paths([file("out")], "/out", "file")).toEqual(["out"]);
    expect(paths([link("out", "other")], "/app/out", "file")).toEqual([]);
  });
});

it("all of them together are bounded, in bytes and in number", () => {
  const { bytes, entries } = ARTIFACT_LIMITS;
  const artifact = (found: readonly TarEntry[]): Artifact => ({
    source: "/a",
    kind: "folder",
    entries: found,
  });
  const half: TarEntry = { ...file("a"), content: new Uint8Array(bytes / 2) } as TarEntry;
  const tooLarge = (...found: readonly (readonly TarEntry[])[]) =>
    isTooLarge(found.map(artifact), ARTIFACT_LIMITS);
  expect([tooLarge([half], [half]), tooLarge([half], [half, file("b")])]).toEqual([false, true]);
  const many = Array<TarEntry>(entries).fill(directory("d"));
  expect([tooLarge(many), tooLarge(many, [file("b", "")])]).toEqual([false, true]);
});

it("what is no archive is an error", () => {
  expect(() => artifactOf("/a", "folder", new Uint8Array(512).fill(1))).toThrow(/no tar archive/);
});
