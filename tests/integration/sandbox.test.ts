/** The process sandbox on this host: owners that are killed, leftovers, unavailability, odd names. */
import { spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createProcessRuntime, type SandboxSpec } from "../../services/sandbox/index.ts";
import { LEASE_MS } from "../../services/sandbox/life.ts";
import { inhabitantsOf } from "../../services/sandbox/process/watch.ts";

let folder: string;
let root: string;
let source: string;
const identity = { experiment: "owner", slot: "s", attempt: 1, fence: "f", deadline: Date.now() + 600_000 };
const limits = { timeoutSeconds: 20, outputBytes: 10_000 };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandbox-host-"));
  root = join(folder, "boxes");
  source = join(folder, "source");
  mkdirSync(source);
  writeFileSync(join(source, "a"), "a");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const runtime = () => createProcessRuntime({ root, nodePath: process.execPath });
const spec = (): SandboxSpec => ({
  ...{ root: source, overlay: [], mounts: [], env: {} },
  limits: { memoryMb: 256, processes: 32, diskMb: 32 },
});
const boxes = () => readdirSync(root).filter((name) => !name.startsWith("."));

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Starts an owner in another process and kills it while its command runs. */
async function killedOwner(): Promise<string> {
  const marker = `7${process.pid}.${Date.now() % 1e6}`;
  const script = fileURLToPath(new URL("sandbox-owner.ts", import.meta.url));
  const owner = spawn(process.execPath, [script, root, source, marker], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await until(() => existsSync(root) && boxes().some((name) => existsSync(join(root, name, "tmp", "ready"))));
  const ended = new Promise((resolve) => owner.once("exit", resolve));
  owner.kill("SIGKILL");
  await ended;
  return boxes()[0]!;
}

it("an image's own tree is refused before anything is made, and not run as if it were any other", async () => {
  const image = { reference: `sha256:${"0".repeat(64)}`, workdir: "/app" };
  await expect(runtime().create({ ...spec(), image }, identity)).rejects.toMatchObject({
    kind: "unavailable",
    message: expect.stringMatching(/no images \(sha256:0+\).*docker/),
  });
  expect(existsSync(root)).toBe(false);
});

describe("an owner that was killed", () => {
  it("takes its commands with it, and its sandbox can be taken over", async () => {
    const name = await killedOwner();
    await until(() => inhabitantsOf(name).length === 0);
    const adopted = await runtime().adopt(identity, { ...identity, fence: "g" });
    expect(Buffer.from(await adopted!.read("kept")).toString()).toBe("kept");
    expect(await runtime().reap({ now: Date.now() })).toBe(0);
    await adopted!.destroy();
    expect(boxes()).toEqual([]);
  });

  it("leaves a sandbox that the reaper removes, with whatever still lives in it", async () => {
    const name = await killedOwner();
    expect(await runtime().reap({ experiment: "other", now: Date.now() })).toBe(0);
    expect(await runtime().reap({ experiment: "owner", now: Date.now() })).toBe(1);
    expect(boxes()).toEqual([]);
    await until(() => inhabitantsOf(name).length === 0);
  });

  it("leaves half-made folders that the reaper removes; those of live processes stay", async () => {
    const own = `new-${process.pid}-${readFileSync("/proc/self/stat", "utf8").split(" ")[21]}-99`;
    for (const name of ["new-4194305-1-1", "old-4194305-1-2", own, "not-ours"])
      mkdirSync(join(root, name, "tree"), { recursive: true });
    expect(await runtime().reap({ now: Date.now() })).toBe(2);
    expect(boxes().sort()).toEqual([own, "not-ours"]);
  });
});

describe("a lease that ran out", () => {
  it("ends a sandbox although its owner lives, after the grace of a host that slept", async () => {
    const sandbox = await runtime().create(spec(), { ...identity, deadline: Date.now() + 10 * LEASE_MS });
    const now = Date.now();
    sandbox.renew(now);
    const late = now + LEASE_MS + 1;
    expect(await runtime().reap({ now: late - 1, graceMs: 1000 })).toBe(0);
    expect(await runtime().reap({ now: late, graceMs: 1000 })).toBe(0);
    expect(await runtime().list(late)).toMatchObject([{ state: "orphaned", runtime: "process" }]);
    sandbox.renew(late);
    expect(await runtime().reap({ now: late + 1000, graceMs: 1000 })).toBe(0);
    expect(await runtime().list(late + 1000)).toMatchObject([{ state: "live" }]);
    // The renewal ended the first wait: the next one begins anew.
    expect(await runtime().reap({ now: late + 2 * LEASE_MS, graceMs: 1000 })).toBe(0);
    expect(await runtime().reap({ now: late + 2 * LEASE_MS + 1000, graceMs: 1000 })).toBe(1);
    expect(() => sandbox.renew(Date.now())).toThrow(expect.objectContaining({ kind: "lost" }));
    await expect(sandbox.read("a")).rejects.toMatchObject({ kind: "lost" });
    expect(boxes()).toEqual([]);
  });

  it("is no matter where nobody ever renewed", async () => {
    const sandbox = await runtime().create(spec(), { ...identity, deadline: Date.now() + 10 * LEASE_MS });
    expect(await runtime().reap({ now: Date.now() + 9 * LEASE_MS })).toBe(0);
    await sandbox.destroy();
  });

  it("is not the next holder's", async () => {
    const first = await runtime().create(spec(), { ...identity, deadline: Date.now() + 10 * LEASE_MS });
    first.renew(Date.now() - 2 * LEASE_MS);
    const next = { ...identity, fence: "g", deadline: Date.now() + 10 * LEASE_MS };
    const second = await runtime().adopt(identity, next);
    expect(() => first.renew(Date.now())).toThrow(expect.objectContaining({ kind: "lost" }));
    expect(await runtime().reap({ now: Date.now() })).toBe(0);
    await second!.destroy();
  });
});

describe("destroy", () => {
  it("removes names that are not UTF-8, closed folders and deep ones", async () => {
    const sandbox = await runtime().create(spec(), identity);
    const script = `
      touch "$(printf 'bad\\\\377name')"; mkdir -p closed/in; touch closed/in/x; chmod 000 closed
      p=.; for i in $(seq 200); do p=$p/d; done; mkdir -p $p; ln -s / slash`;
    expect(await sandbox.exec(["bash", "-c", script], limits)).toMatchObject({ exitCode: 0 });
    await sandbox.changes();
    await sandbox.destroy();
    expect(boxes()).toEqual([]);
    expect(existsSync("/usr/bin")).toBe(true);
  });
});

describe("create", () => {
  it("replaces what the same attempt left, and shares a root with other runtimes", async () => {
    const [first, second] = [
      await runtime().create(spec(), identity),
      await runtime().create(spec(), identity),
    ];
    await expect(first.read("a")).rejects.toMatchObject({ kind: "lost" });
    expect(Buffer.from(await second.read("a")).toString()).toBe("a");
    await second.destroy();
    expect(boxes()).toEqual([]);
  });

  it("sees that its source changed since the last time", async () => {
    const one = runtime();
    const first = await one.create(spec(), identity);
    const before = await first.treeHash();
    await first.destroy();
    writeFileSync(join(source, "a"), "b");
    const second = await one.create(spec(), identity);
    expect(await second.changes()).toEqual([]);
    expect(await second.treeHash()).not.toBe(before);
    await second.destroy();
  });

  it("leaves nothing when it fails", async () => {
    const missing = { ...spec(), mounts: [{ source: join(folder, "none"), target: "/x" }] };
    const sandbox = await runtime().create(missing, identity);
    await expect(sandbox.exec(["true"], limits)).rejects.toMatchObject({ kind: "lost" });
    await sandbox.destroy();
    const overlay = [{ kind: "delete", path: ".." } as const];
    await expect(runtime().create({ ...spec(), overlay }, identity)).rejects.toMatchObject({ kind: "path" });
    expect(boxes()).toEqual([]);
  });
});

describe("unavailable", () => {
  it("names what is missing and what to type", async () => {
    const none = createProcessRuntime({ root, nodePath: process.execPath, bwrapPath: "/nowhere/bwrap" });
    expect(await none.unavailable()).toMatch(/bubblewrap/);
    const path = process.env.PATH;
    process.env.PATH = "/nowhere";
    try {
      expect(await runtime().unavailable()).toContain("apt-get install bubblewrap");
      await expect(runtime().create(spec(), identity)).rejects.toMatchObject({ kind: "unavailable" });
    } finally {
      process.env.PATH = path;
    }
  });

  it("explains a host that allows no user namespaces", async () => {
    const refusing = join(folder, "bwrap");
    writeFileSync(
      refusing,
      "#!/bin/sh\necho 'bwrap: No permissions to create new namespace, user namespaces disabled' >&2; exit 1\n",
    );
    chmodSync(refusing, 0o755);
    const closed = createProcessRuntime({ root, nodePath: process.execPath, bwrapPath: refusing });
    expect(await closed.unavailable()).toMatch(/user namespaces are not allowed here .*; type: sysctl -w/);
  });
});
