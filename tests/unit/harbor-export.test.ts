/** Exported Harbor folders: what is in them, what is not, and how they come to be. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "smol-toml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { quoteShell } from "../../core/shell.ts";
import type { FileChange } from "../../core/task.ts";
import type { PreparedEnvironment } from "../../services/environments/index.ts";
import { harborFolder } from "../../services/formats/harbor/export.ts";
import { readHarborTask } from "../../services/formats/harbor/import.ts";
import { MARKER, writeExport, writeFiles } from "../../services/formats/output.ts";
import { tinyEnvironment, tinyStatement, tinyTask } from "../support/tiny-environment.ts";

let folder: string;
let environment: PreparedEnvironment;
let files: readonly FileChange[];
let exported: string;

const input = () => ({
  task: tinyTask,
  statement: tinyStatement,
  environment,
  image: "example/node:24",
  network: "no-network" as const,
});

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "harbor-export-"));
  environment = tinyEnvironment(join(folder, "environment"));
  files = await harborFolder(input());
  exported = join(folder, "exported");
  await writeFiles(exported, files);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const contentOf = (path: string): string => readFileSync(join(exported, path), "utf8");

describe("an exported task", () => {
  it("says what it is in schema 1.4", () => {
    expect(parse(contentOf("task.toml"))).toMatchObject({
      schema_version: "1.4",
      task: { name: "tadpole/t0000000000000001" },
      metadata: { tadpole: { type: "bug", level: 1 } },
      verifier: { environment_mode: "separate" },
      environment: { network_mode: "no-network" },
    });
    expect(contentOf("instruction.md")).toBe(tinyStatement.text);
    expect(contentOf("environment/Dockerfile")).toMatch(/^FROM example\/node:24\n/);
  });

  it("shows the agent the base tree and no hidden test", () => {
    const below = (prefix: string) =>
      files.filter(({ path }) => path.startsWith(prefix)).map(({ path }) => path.slice(prefix.length));
    expect(below("environment/tree/")).toEqual(["index.js", "package.json", "test/zero.js"]);
    expect(contentOf("environment/tree/index.js")).toContain("a - b");
    const shown = below("environment/").map((path) => contentOf(`environment/${path}`));
    expect(shown.filter((text) => /adds|a \+ b/.test(text))).toEqual([]);
    expect(below("tests/tree/")).toEqual(["test/add.js", "test/zero.js"]);
  });

  it("is the same, byte for byte, whenever it is exported", async () => {
    expect(await harborFolder(input())).toEqual(files);
  });

  it("comes back as what it was", async () => {
    const imported = await readHarborTask(exported);
    expect(imported).toMatchObject({
      origin: { id: `tadpole/${tinyTask.id}` },
      type: "bug",
      statement: { level: 1, text: tinyStatement.text },
      environment: { network: "none" },
      failToPass: ["reward"],
    });
    const parts = (prefix: string, to: string) =>
      files
        .filter(({ path }) => path.startsWith(prefix))
        .map((file) => ({ ...file, path: `${to}${file.path.slice(prefix.length)}` }))
        .sort((a, b) => (a.path < b.path ? -1 : 1));
    const sorted = (changes: readonly FileChange[]) =>
      [...changes].sort((a, b) => (a.path < b.path ? -1 : 1));
    const { image } = imported.environment;
    expect(image.kind === "build" && sorted(image.files)).toEqual(parts("environment/", ""));
    expect(sorted(imported.verifier.files)).toEqual(parts("tests/", "/tests/"));
    expect(imported.gold?.kind === "script" && sorted(imported.gold.files)).toEqual(
      parts("solution/", "/solution/"),
    );
  });

  it.each([
    ["a verifier of its own", { verifier: { files: [], commands: [], exact: null, timeoutSeconds: 1 } }],
    ["a path out of the tree", { base: [{ kind: "delete", path: "../x" }] as const }],
  ])("is refused with %s", async (_, part) => {
    await expect(harborFolder({ ...input(), task: { ...tinyTask, ...part } })).rejects.toMatchObject({
      kind: "unsupported",
    });
  });
});

describe("words of a shell", () => {
  it.each(["a b", "it's", '$(x) `y` \\ "z"', "-rf", "a\nb"])("%j is one word", (word) => {
    expect(execFileSync("sh", ["-c", `printf %s ${quoteShell(word)}`], { encoding: "utf8" })).toBe(word);
  });
});

describe("an export's folder", () => {
  const fill = (name: string) => async (to: string) => {
    writeFileSync(join(to, name), "");
    return { format: "harbor", experiment: "e", exported: [name], skipped: [] } as const;
  };

  it("takes the place of an older export, and of nothing else", async () => {
    const out = join(folder, "out/tasks");
    await writeExport(out, fill("first"));
    await writeExport(out, fill("second"));
    expect(readdirSync(out).sort()).toEqual([MARKER, "second"]);
    writeFileSync(join(out, "notes.md"), "");
    await expect(writeExport(out, fill("third"))).rejects.toThrow("found notes.md, which would be lost");
    expect(readdirSync(out).sort()).toEqual([MARKER, "notes.md", "second"]);
    const foreign = join(folder, "foreign");
    mkdirSync(foreign);
    writeFileSync(join(foreign, "mine.txt"), "");
    await expect(writeExport(foreign, fill("x"))).rejects.toMatchObject({ kind: "input" });
    await expect(writeExport(join(foreign, "mine.txt"), fill("x"))).rejects.toMatchObject({ kind: "input" });
    expect(readdirSync(foreign)).toEqual(["mine.txt"]);
  });

  it("is whole or not there", async () => {
    const out = join(folder, "half/tasks");
    const failing = writeExport(out, async (to) => {
      writeFileSync(join(to, "half"), "");
      throw new Error("cut");
    });
    await expect(failing).rejects.toThrow("cut");
    expect(readdirSync(join(folder, "half"))).toEqual([]);
  });
});
