/** What is left of a worker that is killed while its sandboxes run, in every runtime of this host, and `tadpole sandboxes`, which removes it. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lastLeaks } from "../../chaos/leaks.ts";
import { hostRuntimes, type SandboxInfo, type SandboxRuntime } from "../../services/sandbox/index.ts";
import { type Cli, openCli } from "../support/cli.ts";
import { killedCrowd } from "../support/killed-crowd.ts";

const CROWD = 6;
const MINUTE_MS = 60_000;

const runtimesIn = (dataFolder: string) => hostRuntimes({ dataFolder, nodePath: process.execPath });

const working: string[] = [];
for (const runtime of runtimesIn("/tmp"))
  if ((await runtime.unavailable()) === null) working.push(runtime.name);

let cli: Cli;
let source: string;
beforeEach(() => {
  cli = openCli();
  source = join(cli.dataFolder, "source");
  mkdirSync(source);
  writeFileSync(join(source, "a"), "a");
});
afterEach(async () => {
  await cli.run(["sandboxes", "reap", "--all", "--yes"]);
  await cli.close();
});

function liveOne(runtime: SandboxRuntime) {
  const limits = { memoryMb: 128, processes: 16, diskMb: 16 };
  const identity = {
    ...{ experiment: "living", slot: "living/1", attempt: 3, fence: "f" },
    deadline: Date.now() + 10 * MINUTE_MS,
  };
  return runtime.create({ root: source, overlay: [], mounts: [], limits, env: {} }, identity);
}

const statesOf = (sandboxes: readonly SandboxInfo[]) =>
  sandboxes.map(({ identity, state }) => `${identity.slot} ${state}`).sort();
const crowdIn = (state: string) => Array.from({ length: CROWD }, (_, n) => `crowd/${n} ${state}`);

it("process sandboxes can run here", () => expect(working).toContain("process"));

describe.each(working)("a killed worker's %s sandboxes", (name) => {
  const runtimeHere = () => runtimesIn(cli.dataFolder).find((runtime) => runtime.name === name)!;

  it("are listed as orphans and reaped beside a live one, which goes only when that is confirmed", async () => {
    const runtime = runtimeHere();
    await killedCrowd({ runtime: name, dataFolder: cli.dataFolder, source, count: CROWD });
    const live = await liveOne(runtime);
    const before = await cli.json("sandboxes", "list");
    expect(statesOf(before.sandboxes)).toEqual([...crowdIn("orphaned"), "living/1 live"]);
    // What a chaos run counts is the same.
    expect((await lastLeaks(cli.dataFolder, cli.dataFolder)).sandboxes).toHaveLength(CROWD + 1);
    expect(new Set(before.sandboxes.map((found: SandboxInfo) => found.runtime))).toEqual(new Set([name]));
    for (const { created } of before.sandboxes)
      expect(Math.abs(Date.now() - created)).toBeLessThan(5 * MINUTE_MS);

    const other = await cli.json("sandboxes", "reap", "--experiment", "other");
    expect(other.removed).toEqual([]);
    const reaped = await cli.json("sandboxes", "reap");
    expect(statesOf(reaped.removed)).toEqual(crowdIn("orphaned"));
    expect(statesOf(reaped.left)).toEqual(["living/1 live"]);
    expect(Buffer.from(await live.read("a")).toString()).toBe("a");

    const refused = await cli.run(["sandboxes", "reap", "--all"]);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toMatch(/1 of them live.*--all --yes/);
    expect(Buffer.from(await live.read("a")).toString()).toBe("a");
    const all = await cli.run(["sandboxes", "reap", "--all", "--yes"]);
    expect(all.stdout).toMatch(/living +living\/1 +3 /);
    expect(all.stdout).toMatch(/^removed 1, left 0$/m);
    await expect(live.read("a")).rejects.toMatchObject({ kind: "lost" });
    expect((await cli.json("sandboxes", "list")).sandboxes).toEqual([]);
    expect((await lastLeaks(cli.dataFolder, cli.dataFolder)).sandboxes).toEqual([]);
  });

  it("are kept for the grace where the slot's next attempt may go on in them", async () => {
    const runtime = runtimeHere();
    await killedCrowd({ runtime: name, dataFolder: cli.dataFolder, source, count: CROWD });
    const now = Date.now();
    const grace = { graceMs: MINUTE_MS };
    expect(await runtime.reap({ ...grace, now })).toBe(CROWD / 2);
    const adopted = await runtime.adopt(
      { slot: "crowd/0", fence: "f" },
      {
        ...{ experiment: "crowd", slot: "crowd/0", attempt: 2, fence: "g", adoptable: true },
        deadline: now + 10 * MINUTE_MS,
      },
    );
    expect(Buffer.from(await adopted!.read("a")).toString()).toBe("a");
    expect(await runtime.reap({ ...grace, now: now + MINUTE_MS })).toBe(CROWD / 2 - 1);
    expect(statesOf(await runtime.list(now))).toEqual(["crowd/0 live"]);
    await adopted!.destroy();
    expect(await runtime.list(now)).toEqual([]);
  });
});

describe("tadpole sandboxes", () => {
  it("says so where there are none", async () => {
    expect((await cli.run(["sandboxes", "list"])).stdout).toMatch(/^no sandboxes$/m);
    expect((await cli.run(["sandboxes", "reap"])).stdout).toMatch(/^removed 0, left 0$/m);
  });

  it("refuses a grace that is no duration", async () => {
    const { code, stderr } = await cli.run(["sandboxes", "reap", "--grace", "soon"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/--grace soon: expected a duration/);
  });
});
