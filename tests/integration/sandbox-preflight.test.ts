/** Nothing boots on a disk without room, and what runs already is not in the way of that. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createRuntime, listSandboxes, reapSandboxes } from "../../services/sandbox/index.ts";

let dataFolder: string;
beforeEach(() => {
  dataFolder = mkdtempSync(join(tmpdir(), "preflight-"));
  mkdirSync(join(dataFolder, "source"));
});
afterEach(() => rmSync(dataFolder, { recursive: true, force: true }));

const limits = { memoryMb: 64, processes: 8, diskMb: 8 };
const identity = { experiment: "e", slot: "s", attempt: 1, fence: "f", deadline: Date.now() + 600_000 };
const runtimeWith = (minFreeMb: number) =>
  createRuntime("process", { dataFolder, nodePath: process.execPath, minFreeMb });
const spec = () => ({ root: join(dataFolder, "source"), overlay: [], mounts: [], limits, env: {} });

describe("a boot", () => {
  it("is refused with path and number where the disk is below its watermark; what is there can be adopted, seen and removed", async () => {
    const roomy = runtimeWith(1);
    await roomy.create(spec(), identity);
    const full = runtimeWith(2 ** 40);
    await expect(full.create(spec(), { ...identity, slot: "t" })).rejects.toMatchObject({
      name: "SandboxError",
      kind: "disk",
      message: expect.stringContaining(`${join(dataFolder, "sandboxes")} has `),
    });
    const adopted = await full.adopt(identity, { ...identity, fence: "g" });
    expect(await adopted!.changes()).toEqual([]);
    const { sandboxes } = await listSandboxes([full], Date.now());
    expect(sandboxes.map((found) => found.identity.slot)).toEqual(["s"]);
    await adopted!.destroy();
    expect(await full.list(Date.now())).toEqual([]);
  });
});

describe("runtimes of a host", () => {
  it("that cannot be asked are named, and the others are looked at", async () => {
    const works = runtimeWith(0);
    await works.create(spec(), { ...identity, deadline: 1 });
    const away = {
      ...works,
      name: "docker" as const,
      list: () => Promise.reject(new Error("no daemon answers")),
    };
    const problems = [{ runtime: "docker", reason: "no daemon answers" }];
    const runtimes = [away, works];
    expect(await listSandboxes(runtimes, 2)).toMatchObject({ sandboxes: [{ state: "expired" }], problems });
    expect(await reapSandboxes(runtimes, { now: 2, graceMs: 0 })).toMatchObject({
      removed: [{ identity: { slot: "s" } }],
      left: [],
      problems,
    });
  });
});
