/** The Docker runtime on a real daemon, seen through a connection that the tests can cut: what the contract does not say. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { connect, connectionFrom } from "../../services/sandbox/docker/client.ts";
import { baseImage, labelsOf } from "../../services/sandbox/docker/container.ts";
import { Daemon } from "../../services/sandbox/docker/daemon.ts";
import {
  createDockerRuntime,
  ensureBaseImage,
  hashManifest,
  helperName,
  type Sandbox,
  type SandboxRuntime,
  type SandboxSpec,
  scanTree,
} from "../../services/sandbox/index.ts";
import { LEASE_MS } from "../../services/sandbox/life.ts";
import { DaemonLine } from "../support/daemon-line.ts";

const connection = connectionFrom();
const { docker } = connect(connection);
const reason = await docker.ping().then(
  () => null,
  (error: Error) => error.message,
);
const runs = reason === null || process.env.CI === "true";

describe.skipIf(!runs)("the docker runtime", () => {
  const LIMITS = { timeoutSeconds: 30, outputBytes: 100_000 };
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("utf8");
  let folder: string;
  let line: DaemonLine;
  let runtime: SandboxRuntime;
  let spec: SandboxSpec;
  let base: string;
  const identity = {
    experiment: "docker",
    slot: "s",
    attempt: 1,
    fence: "f",
    deadline: Date.now() + 600_000,
  };
  const bash = (sandbox: Sandbox, script: string) => sandbox.exec(["bash", "-c", script], LIMITS);
  const containers = async () =>
    (await docker.listContainers({ all: true, filters: { label: ["tadpole.experiment=docker"] } })).length;

  /** Waits until the one sandbox's container runs that command. */
  async function untilRuns(command: string): Promise<void> {
    const [found] = await docker.listContainers({ filters: { label: ["tadpole.experiment=docker"] } });
    const processes = async () => (await docker.getContainer(found!.Id).top()).Processes as string[][];
    while (!(await processes()).some((fields) => fields.at(-1) === command))
      await new Promise((resolve) => setTimeout(resolve, 20));
  }

  beforeAll(async () => {
    base = await ensureBaseImage();
  });
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "docker-runtime-"));
    mkdirSync(join(folder, "source", "lib"), { recursive: true });
    writeFileSync(join(folder, "source", "a"), "one\n");
    writeFileSync(join(folder, "source", "lib", "b"), "two\n");
    line = new DaemonLine(join(folder, "d.sock"), connection);
    await line.open();
    runtime = createDockerRuntime({
      root: join(folder, "boxes"),
      nodePath: process.execPath,
      connection: { socketPath: line.path },
    });
    spec = {
      root: join(folder, "source"),
      overlay: [],
      mounts: [],
      limits: { memoryMb: 128, processes: 16, diskMb: 64 },
      env: {},
    };
  });
  afterEach(async () => {
    line.close();
    const left = await docker.listContainers({
      all: true,
      filters: { label: ["tadpole.experiment=docker"] },
    });
    for (const { Id } of left) await docker.getContainer(Id).remove({ force: true, v: true });
    rmSync(folder, { recursive: true, force: true });
  });

  it("opens a cut connection again: what became of the command in flight is unknown, the sandbox goes on", async () => {
    const sandbox = await runtime.create(spec, identity);
    const running = bash(sandbox, "echo begun; echo kept > kept; sleep 60");
    await untilRuns("sleep 60");
    line.cut();
    await expect(running).rejects.toMatchObject({ kind: "lost", outOfMemory: false });
    expect(text((await bash(sandbox, "cat kept; ps -e -o comm=")).stdout)).toBe("kept\n.sh\nps\n");
    line.cut();
    expect(text(await sandbox.read("kept"))).toBe("kept\n");
    line.cut();
    // A command sent before the loss is noticed would be of unknown outcome as well.
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(text((await bash(sandbox, "cat kept")).stdout)).toBe("kept\n");
    await sandbox.destroy();
  });

  it("is lost once its connection breaks twice in a row, and can still be adopted", async () => {
    const sandbox = await runtime.create(spec, identity);
    for (const seconds of ["50", "60"]) {
      const running = bash(sandbox, `echo kept > kept; sleep ${seconds}`);
      await untilRuns(`sleep ${seconds}`);
      line.cut();
      await expect(running).rejects.toMatchObject({ kind: "lost" });
    }
    await expect(sandbox.read("kept")).rejects.toMatchObject({ kind: "lost" });
    const adopted = await runtime.adopt(identity, { ...identity, attempt: 2, fence: "g" });
    expect(text(await adopted!.read("kept"))).toBe("kept\n");
    await adopted!.destroy();
  });

  it.skipIf(process.getuid?.() !== 0)(
    "whose container the kernel kills for memory ends the command for that, and the next call as lost",
    async () => {
      const sandbox = await runtime.create(spec, identity);
      const [found] = await docker.listContainers({ filters: { label: ["tadpole.experiment=docker"] } });
      const { State } = await docker.getContainer(found!.Id).inspect();
      writeFileSync(`/proc/${State.Pid}/oom_score_adj`, "1000");
      const hold = "import time\nheld = bytearray(60 << 20)\ntime.sleep(30)";
      const all = `echo 0 > /proc/self/oom_score_adj; echo begun; for i in 1 2 3 4 5 6; do python3 -c '${hold}' & done; wait`;
      expect(await bash(sandbox, all)).toMatchObject({
        outOfMemory: true,
        signal: "SIGKILL",
        timedOut: false,
      });
      await expect(sandbox.read("a")).rejects.toMatchObject({ kind: "lost", outOfMemory: true });
      await sandbox.destroy();
    },
  );

  it("whose container somebody kills is not taken for one that took all memory, which an earlier command of it did", async () => {
    const sandbox = await runtime.create(spec, identity);
    expect(await bash(sandbox, "tail /dev/zero")).toMatchObject({ outOfMemory: true });
    const running = bash(sandbox, "sleep 70");
    await untilRuns("sleep 70");
    const [found] = await docker.listContainers({ filters: { label: ["tadpole.experiment=docker"] } });
    await docker.getContainer(found!.Id).kill();
    await expect(running).rejects.toMatchObject({ kind: "lost", outOfMemory: false });
    await sandbox.destroy();
  });

  it("ends a command in time while the daemon does not answer, and says so", async () => {
    runtime = createDockerRuntime({
      root: join(folder, "boxes"),
      nodePath: process.execPath,
      connection: { socketPath: line.path },
      killMs: 500,
    });
    const sandbox = await runtime.create(spec, identity);
    const running = sandbox.exec(["sleep", "60"], { ...LIMITS, timeoutSeconds: 1 });
    await untilRuns("sleep 60");
    line.hang = true;
    const started = performance.now();
    await expect(running).rejects.toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining(`${line.path} does not answer`),
    });
    expect(performance.now() - started).toBeLessThan(10_000);
    line.hang = false;
    line.cut();
    expect(text((await bash(sandbox, "ps -e -o comm=")).stdout)).toBe(".sh\nps\n");
    await sandbox.destroy();
  });

  it("names a daemon that is gone, a container that was killed, and one that was removed", async () => {
    const [killed, removed, orphan] = await Promise.all(
      ["killed", "removed", "orphan"].map((slot) => runtime.create(spec, { ...identity, slot })),
    );
    const idOf = async (slot: string) =>
      (await docker.listContainers({ all: true, filters: { label: [`tadpole.slot=${slot}`] } }))[0]!.Id;
    const running = bash(killed!, "sleep 60");
    await docker.getContainer(await idOf("killed")).kill();
    await expect(running).rejects.toMatchObject({
      kind: "lost",
      message: expect.stringContaining("exit code 137"),
    });
    await docker.getContainer(await idOf("removed")).remove({ force: true });
    await expect(bash(removed!, "true")).rejects.toMatchObject({
      kind: "lost",
      message: expect.stringContaining("was removed"),
    });
    line.close();
    await expect(bash(orphan!, "true")).rejects.toMatchObject({
      kind: "lost",
      message: expect.stringContaining(`no Docker daemon answers at ${line.path}`),
    });
    expect(await runtime.unavailable()).toMatch(/no Docker daemon answers at .*start it/);
    await expect(runtime.create(spec, { ...identity, slot: "new" })).rejects.toMatchObject({
      kind: "unavailable",
    });
  });

  it("makes no twin when the daemon's reply is lost", async () => {
    await runtime.unavailable();
    line.swallow = "POST /containers/create";
    const sandbox = await runtime.create(spec, identity);
    expect(line.swallow).toBeUndefined();
    expect(await containers()).toBe(1);
    expect((await bash(sandbox, "cat a")).exitCode).toBe(0);
    await sandbox.destroy();
    expect(await containers()).toBe(0);
  });

  it("takes over a container that was created and never started, and none of another data folder", async () => {
    const daemon = new Daemon(connect(connection));
    const parts = {
      name: `tadpole-test-${process.pid}`,
      labels: labelsOf(identity, "one"),
      spec,
      image: baseImage(base),
      nodePath: process.execPath,
      repeatablePath: join(folder, "source", "a"),
      cpus: 1,
    };
    const first = await daemon.create(parts);
    expect(await daemon.create(parts)).toBe(first);
    const others = { ...parts, labels: labelsOf(identity, "two") };
    await expect(daemon.create(others)).rejects.toMatchObject({ kind: "boot" });
    const anew = { ...parts, labels: labelsOf({ ...identity, attempt: 2 }, "one") };
    expect(await daemon.create(anew)).not.toBe(first);
  });

  it("says that a daemon which does not see this machine's files is of no use", async () => {
    const mounts = [{ source: join(folder, "elsewhere"), target: "/mnt/x" }];
    await expect(runtime.create({ ...spec, mounts }, identity)).rejects.toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("run the sandbox worker on the daemon's machine"),
    });
    expect(await containers()).toBe(0);
    expect(readdirSync(join(folder, "boxes")).filter((name) => !name.startsWith("."))).toEqual([]);
  });

  it("shows process 1 to nobody: neither its memory nor its descriptors", async () => {
    const sandbox = await runtime.create(spec, identity);
    const look =
      "for f in environ mem maps fd/0 fd/3 root/etc cwd; do ls /proc/1/$f/ >/dev/null 2>&1 && echo $f; head -c 1 /proc/1/$f >/dev/null 2>&1 && echo $f; done; echo x > /proc/1/fd/0";
    const result = await bash(sandbox, look);
    expect(text(result.stdout)).toBe("");
    expect(text(result.stderr)).toContain("Permission denied");
    await sandbox.destroy();
  });

  it("sees a folder that is full of names alone, whatever the command says of it", async () => {
    const sandbox = await runtime.create(spec, identity);
    const link =
      'fs.writeFileSync("/tmp/a", ""); try { for (let n = 0; ; n++) fs.linkSync("/tmp/a", "/tmp/" + n); } catch {}';
    const result = await sandbox.exec(["node", "-e", link], LIMITS);
    expect(result).toMatchObject({ exitCode: 0, diskFull: true });
    await sandbox.destroy();
  });

  it("survives files that fill the disk and a command that takes all memory beside them", async () => {
    const sandbox = await runtime.create(spec, identity);
    const fill = await bash(
      sandbox,
      "head -c 100m /dev/zero > big; head -c 100m /dev/zero > /tmp/big; head -c 100m /dev/zero > /dev/shm/big",
    );
    expect(fill).toMatchObject({ diskFull: true });
    const hold = "held = []\nwhile True: held.append(bytearray(1 << 20))";
    expect(await sandbox.exec(["python3", "-c", hold], LIMITS)).toMatchObject({
      outOfMemory: true,
      signal: "SIGKILL",
    });
    expect(text((await bash(sandbox, "rm big /tmp/big; echo alive")).stdout)).toBe("alive\n");
    await sandbox.destroy();
  });

  it("reaps containers that a killed process left while it looked into an image, once they are old", async () => {
    const box = await runtime.create(spec, identity);
    const left: string[] = [];
    for (const name of [helperName(Date.now() - 86_400_000), helperName()])
      left.push((await docker.createContainer({ name, Image: base, Cmd: ["true"] })).id);
    const isThere = (id: string) =>
      docker
        .getContainer(id)
        .inspect()
        .then(
          () => true,
          () => false,
        );
    try {
      expect(await runtime.reap({ experiment: "docker", now: Date.now() })).toBe(0);
      expect(await Promise.all(left.map(isThere))).toEqual([true, true]);
      expect(await runtime.reap({ now: Date.now() })).toBe(0);
      expect(await Promise.all(left.map(isThere))).toEqual([false, true]);
    } finally {
      for (const id of left)
        if (await isThere(id)) await docker.getContainer(id).remove({ force: true, v: true });
    }
    await box.destroy();
  });

  it("reaps what could not be removed once, past what still cannot; a failed end is tried again", async () => {
    const { remove } = Daemon.prototype;
    const refused = new Set<string>();
    const idOf = async (slot: string) =>
      (await docker.listContainers({ filters: { label: [`tadpole.slot=${slot}`] } }))[0]!.Id;
    Daemon.prototype.remove = async function (id) {
      if (refused.has(id)) throw new Error("device or resource busy");
      await remove.call(this, id);
    };
    try {
      const boxes: Sandbox[] = [];
      for (const slot of ["one", "two", "three"]) {
        boxes.push(await runtime.create(spec, { ...identity, slot, deadline: Date.now() - 1 }));
        refused.add(await idOf(slot));
      }
      await expect(boxes[0]!.destroy()).rejects.toThrow("busy");
      await expect(boxes[1]!.destroy()).rejects.toThrow("busy");
      expect((await runtime.list(Date.now())).map(({ state }) => state)).toEqual(Array(3).fill("expired"));
      refused.delete(await idOf("two"));
      refused.delete(await idOf("three"));
      await expect(runtime.reap({ now: Date.now() })).rejects.toThrow("busy");
      expect(await containers()).toBe(1);
      expect((await runtime.list(Date.now())).map(({ identity }) => identity.slot)).toEqual(["one"]);
      refused.clear();
      await boxes[0]!.destroy();
      expect(await containers()).toBe(0);
      const last = await runtime.create(spec, identity);
      refused.add(await idOf("s"));
      await expect(last.destroy()).rejects.toThrow("busy");
      refused.clear();
      expect(await runtime.removeSlot(identity)).toBe(1);
      expect(await containers()).toBe(0);
    } finally {
      Daemon.prototype.remove = remove;
    }
  });

  it("lists and reaps containers when the whole folder of records is gone", async () => {
    await runtime.create(spec, identity);
    const root = join(folder, "boxes");
    rmSync(root, { recursive: true });
    const anew = createDockerRuntime({ root, nodePath: process.execPath });
    expect((await anew.list(Date.now())).map(({ state }) => state)).toEqual(["orphaned"]);
    expect(await anew.reap({ now: Date.now() })).toBe(1);
    expect(await containers()).toBe(0);
    const nowhere = { socketPath: join(folder, "none.sock") };
    const without = createDockerRuntime({ root, nodePath: process.execPath, connection: nowhere });
    expect(await without.reap({ now: Date.now() })).toBe(0);
  });

  it("lives by its lease", async () => {
    const deadline = Date.now() + 86_400_000;
    const sandbox = await runtime.create(spec, { ...identity, deadline });
    const stateAt = async (now: number) => (await runtime.list(now))[0]!.state;
    const first = Date.now();
    sandbox.renew(first);
    expect(await stateAt(first + LEASE_MS)).toBe("live");
    expect(await stateAt(first + LEASE_MS + 1)).toBe("orphaned");
    sandbox.renew(first + LEASE_MS);
    expect(await stateAt(first + LEASE_MS + 1)).toBe("live");
    await sandbox.destroy();
  });

  it("boots as many at a time as it may, whatever is asked for", async () => {
    const { start } = Daemon.prototype;
    let now = 0;
    let most = 0;
    Daemon.prototype.start = async function (id) {
      most = Math.max(most, ++now);
      await start.call(this, id);
      now--;
    };
    try {
      const root = join(folder, "boxes");
      const narrow = createDockerRuntime({ root, nodePath: process.execPath, boots: 2 });
      const slots = ["a", "b", "c", "d", "e"];
      const boxes = await Promise.all(slots.map((slot) => narrow.create(spec, { ...identity, slot })));
      expect(most).toBe(2);
      await Promise.all(boxes.map((box) => box.destroy()));
    } finally {
      Daemon.prototype.start = start;
    }
  });

  it("lists and reaps containers whose records are gone", async () => {
    await runtime.create(spec, identity);
    await runtime.create(spec, { ...identity, slot: "other" });
    const boxes = join(folder, "boxes");
    const [lost] = readdirSync(boxes).filter((name) => !name.startsWith("."));
    rmSync(join(boxes, lost!), { recursive: true });
    const states = (await runtime.list(Date.now())).map(({ state }) => state);
    expect(states.sort()).toEqual(["live", "orphaned"]);
    expect(await runtime.reap({ now: Date.now(), experiment: "another" })).toBe(0);
    expect(await runtime.reap({ now: Date.now() })).toBe(1);
    expect(await containers()).toBe(1);
  });

  describe("with an image that holds the tree", () => {
    const reference = `tadpole-test-image-${process.pid}:1`;
    let image: string;

    beforeAll(async () => {
      const script =
        "mkdir -p /testbed/lib /testbed/gone && cd /testbed && printf 'one\\n' > a && printf 'two\\n' > lib/b && printf 'x' > gone/x && printf 'more' > extra && chown -R 1000:1000 /testbed";
      const container = await docker.createContainer({
        Image: base,
        Cmd: ["sh", "-c", script],
        HostConfig: { NetworkMode: "none" },
      });
      await container.start();
      await container.wait();
      const [repo, tag] = reference.split(":");
      await container.commit({ repo, tag });
      await container.remove();
      image = (await docker.getImage(reference).inspect()).Id;
    });
    afterAll(async () => {
      await docker.getImage(reference).remove({ force: true });
    });
    beforeEach(() => {
      mkdirSync(join(folder, "source", "gone"));
      writeFileSync(join(folder, "source", "gone", "x"), "x");
      spec = { ...spec, image: { reference: image, workdir: "/testbed" } };
    });

    it("works in it as the tree's owner, with the overlay applied", async () => {
      const overlay = [
        { kind: "write", path: "lib/b", content: "changed\n", encoding: "utf8", executable: true },
        { kind: "delete", path: "gone/x" },
        { kind: "symlink", path: "deep/link", target: "../a" },
      ] as const;
      const sandbox = await runtime.create({ ...spec, overlay }, identity);
      expect(sandbox.workdir).toBe("/testbed");
      const { stdout } = await bash(sandbox, "pwd; id -u; cat lib/b deep/link; test -x lib/b; ls");
      expect(text(stdout)).toBe("/testbed\n1000\nchanged\none\na\ndeep\nextra\nlib\n");
      expect(await sandbox.changes()).toEqual([]);
      await sandbox.write("new", Buffer.from("new"));
      await bash(sandbox, "rm extra");
      expect((await sandbox.changes()).map(({ kind, path }) => `${kind} ${path}`)).toEqual([
        "delete extra",
        "write new",
      ]);
      await sandbox.destroy();
    });

    it("hashes as the same tree on the host, and refuses a copy that is not the image's", async () => {
      writeFileSync(join(folder, "source", "extra"), "more");
      const sandbox = await runtime.create(spec, identity);
      expect(await sandbox.treeHash()).toBe(hashManifest(await scanTree(spec.root)));
      await sandbox.destroy();
      writeFileSync(join(folder, "source", "a"), "another\n");
      await expect(runtime.create(spec, identity)).rejects.toMatchObject({
        kind: "boot",
        message: expect.stringContaining('"a" differs'),
      });
    });

    it("has a process 1 that root inside cannot make the kernel's first choice", async () => {
      const container = await docker.createContainer({
        Image: image,
        Cmd: ["sh", "-c", "rm /testbed/extra; chown -R 0:0 /testbed"],
        HostConfig: { NetworkMode: "none" },
      });
      await container.start();
      await container.wait();
      const { Id } = await container.commit();
      await container.remove();
      try {
        const sandbox = await runtime.create(
          { ...spec, image: { reference: Id, workdir: "/testbed" } },
          identity,
        );
        const script =
          "id -u; for f in /proc/1 /proc/1/task/1; do echo 1000 > $f/oom_score_adj; done; cat /proc/1/oom_score_adj";
        expect(text((await bash(sandbox, script)).stdout)).toBe("0\n0\n");
        await sandbox.destroy();
      } finally {
        await docker.getImage(Id).remove({ force: true });
      }
    });

    it("bounds the disk: by measuring after each command, and in memory where the image declares a volume", async () => {
      const container = await docker.createContainer({
        Image: image,
        Cmd: ["true"],
        HostConfig: { NetworkMode: "none" },
      });
      const commit = async (changes: string) => (await container.commit({ changes })).Id as string;
      const ids = [await commit("VOLUME /vol"), await commit("VOLUME /testbed")];
      await container.remove();
      try {
        const [withVolume, underTree] = ids.map((reference) => ({
          ...spec,
          image: { reference: reference!, workdir: "/testbed" },
        }));
        await expect(runtime.create(underTree!, identity)).rejects.toMatchObject({
          kind: "boot",
          message: expect.stringContaining("VOLUME"),
        });
        const sandbox = await runtime.create(withVolume!, identity);
        const [found] = await docker.listContainers({ filters: { label: ["tadpole.experiment=docker"] } });
        const { Mounts } = await docker.getContainer(found!.Id).inspect();
        const fill = (path: string) => bash(sandbox, `head -c 40m /dev/zero > ${path}`);
        expect((await fill("first")).diskFull).toBeUndefined();
        expect((await fill("second")).diskFull).toBe(true);
        expect((await bash(sandbox, "rm first second")).diskFull).toBeUndefined();
        expect(await bash(sandbox, "head -c 80m /dev/zero > /vol/big")).toMatchObject({
          exitCode: 1,
          diskFull: true,
        });
        await sandbox.destroy();
        expect(Mounts.filter(({ Type }) => Type === "volume")).toEqual([]);
      } finally {
        for (const id of ids) await docker.getImage(id).remove({ force: true });
      }
    });

    it("that is missing, or has no such folder, is one clear error", async () => {
      const missing = { reference: "tadpole-none:1", workdir: "/testbed" };
      await expect(runtime.create({ ...spec, image: missing }, identity)).rejects.toMatchObject({
        kind: "unavailable",
        message: expect.stringMatching(/No such image: tadpole-none:1.*docker pull/),
      });
      const nowhere = { reference: image, workdir: "/nowhere" };
      await expect(runtime.create({ ...spec, image: nowhere }, identity)).rejects.toMatchObject({
        kind: "boot",
        message: expect.stringContaining("no working tree at /nowhere"),
      });
    });
  });
});
