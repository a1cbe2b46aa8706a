/** The image cache on a real Docker daemon, with images of a few hundred kilobytes that the tests make, and a registry of their own. */
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { pinImage, removeEnvironment } from "../../services/environments/index.ts";
import { type ImportedTask, prepareImport } from "../../services/formats/index.ts";
import { connect } from "../../services/sandbox/docker/client.ts";
import { helperName } from "../../services/sandbox/docker/helper.ts";
import { ensureBaseImage, imageId } from "../../services/sandbox/docker/image.ts";
import { tar } from "../../services/sandbox/docker/tar.ts";
import { createImageCache } from "../../services/sandbox/images/cache.ts";
import { readRecords, writeRecord } from "../../services/sandbox/images/record.ts";
import { createProcessRuntime } from "../../services/sandbox/index.ts";
import { sha256Of } from "../../services/store/index.ts";
import { startRegistry } from "../support/registry.ts";

const KB = 1024;
const client = connect();
const { docker } = client;
const answers = await docker.ping().then(
  () => true,
  () => false,
);

const run = randomBytes(4).toString("hex");
const named = (name: string) => `tadpole-test-${run}-${name}:1`;

let folder: string;
let made: string[];
let containers: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "image-cache-"));
  made = [];
  containers = [];
});
afterEach(async () => {
  for (const id of containers) await docker.getContainer(id).remove({ force: true, v: true });
  for (const reference of made)
    await docker
      .getImage(reference)
      .remove({ force: true })
      .catch(() => {});
  rmSync(folder, { recursive: true, force: true });
});

/** An image of one file of so many bytes that nothing compresses and no other image has. */
async function importImage(name: string, bytes: number): Promise<string> {
  const file = { type: "file", path: "content", content: randomBytes(bytes), executable: false } as const;
  const [repo, tag] = named(name).split(":");
  const stream = await docker.importImage(Readable.from([...tar([file])]), { repo: repo!, tag: tag! });
  await new Promise((resolve, reject) => stream.on("end", resolve).on("error", reject).resume());
  made.push(named(name));
  return (await imageId(client, named(name)))!;
}

const cacheOf = (maxBytes: number, pinned: readonly string[] = []) =>
  createImageCache({ client, folder, maxBytes, minFreeMb: 0, pinned });

describe.runIf(answers)("the image cache", () => {
  it("removes the least recently used of its own that nothing uses, and no more than it must", async () => {
    const ids: Record<string, string> = {};
    for (const name of ["contained", "pinned", "oldest", "older", "newest", "foreign", "renamed"])
      ids[name] = await importImage(name, 200 * KB);
    const order = ["contained", "pinned", "renamed", "oldest", "older", "newest"];
    for (const [n, name] of order.entries())
      writeRecord(folder, { id: ids[name]!, reference: named(name), how: "built", lastUsed: n });
    const container = await docker.createContainer({ Image: ids.contained!, Cmd: ["/content"] });
    containers.push(container.id);
    await docker.getImage(named("renamed")).tag({ repo: `tadpole-test-${run}-mine`, tag: "1" });
    made.push(`tadpole-test-${run}-mine:1`);

    // Of its own and not pinned: contained, oldest, older, newest, 800 KB; it is cleared down to 608.
    const cache = cacheOf(760 * KB, [named("pinned")]);
    cache.used(named("oldest"));
    const pruned = await cache.prune();
    expect(pruned.removed).toEqual([{ reference: named("older"), bytes: expect.any(Number) }]);
    expect(pruned.removed[0]!.bytes).toBeGreaterThanOrEqual(200 * KB);
    expect(await imageId(client, ids.older!)).toBeUndefined();
    for (const name of ["contained", "pinned", "oldest", "newest", "foreign", "renamed"])
      expect(await imageId(client, ids[name]!), name).toBe(ids[name]);
    expect((await cache.prune()).removed).toEqual([]);

    await container.remove();
    containers.pop();
    const all = await cacheOf(0, [named("pinned")]).prune();
    expect(all.removed.map(({ reference }) => reference).sort()).toEqual(
      ["contained", "newest", "oldest"].map(named).sort(),
    );
    expect(readRecords(folder).map(({ id }) => id)).toEqual([ids.pinned, ids.renamed].sort());
  });

  it("forgets what somebody removed", async () => {
    const id = await importImage("gone", 10 * KB);
    cacheOf(0).built(id, named("gone"));
    await docker.getImage(id).remove();
    expect(await cacheOf(0).prune()).toEqual({ removed: [], bytes: 0 });
    expect(readRecords(folder)).toEqual([]);
  });
});

/** The base image and a working tree at /srv of one file that no other image has. */
async function imageWithTree(name: string): Promise<string> {
  const container = await docker.createContainer({
    name: helperName(),
    Image: await ensureBaseImage({ client }),
    Cmd: ["true"],
    HostConfig: { NetworkMode: "none" },
  });
  containers.push(container.id);
  const file = {
    type: "file",
    path: "srv/a",
    content: randomBytes(200 * KB),
    executable: false,
  } as const;
  await container.putArchive(Buffer.concat([...tar([file])]), { path: "/" });
  const [repo, tag] = named(name).split(":");
  await container.commit({ repo: repo!, tag: tag! });
  await container.remove();
  containers.pop();
  made.unshift(named(name));
  return (await imageId(client, named(name)))!;
}

describe.runIf(answers)("an image that is made of another", () => {
  const pin = async (parent: string) => {
    const cache = cacheOf(2 ** 40);
    const { reference } = await pinImage(parent, "/srv", (id, name) => cache.built(id, name));
    made.unshift(reference);
    return reference;
  };
  const recorded = () => readRecords(folder).map(({ id }) => id);

  it("is on record, and so its parent stays, which goes after it", async () => {
    const parent = await imageWithTree("parent");
    writeRecord(folder, { id: parent, reference: named("parent"), how: "pulled", lastUsed: 1 });
    const pinned = await pin(parent);
    expect(pinned).not.toBe(parent);
    expect(recorded()).toEqual([parent, pinned].sort());
    expect((await cacheOf(2 ** 40).prune()).removed).toEqual([]);
    expect(recorded()).toEqual([parent, pinned].sort());
    // Pinned again, here or for another data folder: the same one, on record as well.
    rmSync(folder, { recursive: true });
    writeRecord(folder, { id: parent, reference: named("parent"), how: "pulled", lastUsed: 1 });
    expect(await pin(parent)).toBe(pinned);
    expect(recorded()).toEqual([parent, pinned].sort());

    const { removed } = await cacheOf(0).prune();
    expect(removed.map(({ reference }) => reference)).toEqual([`${parent}, pinned`, named("parent")]);
    expect(recorded()).toEqual([]);
    for (const id of [parent, pinned]) expect(await imageId(client, id)).toBeUndefined();
  });

  it("goes with the last environment that is of it, and not while a container uses it", async () => {
    const pinned = await pin(await imageWithTree("environment"));
    const dataFolder = join(folder, "data");
    for (const name of ["first", "second"]) {
      const entry = {
        ...{ name, source: `docker:${named("environment")}`, role: "unseen", framework: "command" },
        ...{ sources: ["aa"], tests: ["bb"], image: { reference: pinned, workdir: "/srv" } },
        test: { argv: ["true"], format: "tap", reportFile: null },
      };
      const place = join(dataFolder, "environments", "added", name);
      mkdirSync(place, { recursive: true });
      writeFileSync(join(place, "catalogue.yaml"), stringify({ packages: [entry] }));
    }
    const discardImage = (id: string) => cacheOf(2 ** 40).discard(id);
    const remove = (name: string) =>
      removeEnvironment({ dataFolder, name, force: true, usedBy: async () => [], discardImage });
    await remove("first");
    expect(await imageId(client, pinned)).toBe(pinned);

    const container = await docker.createContainer({ Image: pinned, Cmd: ["true"] });
    containers.push(container.id);
    expect(await discardImage(pinned)).toBe(false);
    await container.remove();
    containers.pop();
    await remove("second");
    expect(await imageId(client, pinned)).toBeUndefined();
    expect(recorded()).toEqual([]);
    // Nothing uses the one below, and somebody has named it.
    expect(await discardImage((await imageId(client, named("environment")))!)).toBe(false);
  });

  it("is on record for each step of an import that is built: as built, without what is hidden, pinned", async () => {
    const base = await imageWithTree("base");
    const cache = cacheOf(2 ** 40);
    const text = `FROM ${named("base")}\nCOPY secret /srv/secret\nWORKDIR /srv\n`;
    const file = (path: string, content: string) =>
      ({ kind: "write", path, content, encoding: "utf8" }) as const;
    const imported: ImportedTask = {
      origin: { format: "harbor", id: `box-${run}`, file: "task.toml", row: null, line: null },
      type: "bug",
      statement: { level: 2, text: "mend it" },
      environment: {
        image: {
          kind: "build",
          files: [file("Dockerfile", text), file("secret", randomBytes(9).toString("hex"))],
          dockerfile: "Dockerfile",
        },
        ...{ workdir: null, env: {}, limits: {}, cpus: null, network: "none", hidden: ["/srv/secret"] },
      },
      ...{ base: [], gold: null, tests: [], hiddenFiles: [], failToPass: ["t"], passToPass: [], notes: [] },
      verifier: {
        files: [],
        commands: [{ scope: "", argv: ["true"], format: "tap", reportFile: null }],
        exact: null,
        timeoutSeconds: 1,
      },
    };
    const prepared = await prepareImport(imported, {
      dataFolder: join(folder, "data"),
      runtime: createProcessRuntime({ root: join(folder, "boxes"), nodePath: process.execPath }),
      note: (id, reference) => cache.built(id, reference),
    });
    const records = readRecords(folder);
    made.unshift(...records.map(({ id }) => id));
    const steps = records.map(({ reference }) => reference.replace(/sha256:[0-9a-f]{64}/, "<id>")).sort();
    const name = `harbor:box-${run}`;
    expect(steps).toEqual(["<id>, pinned", `${name}, built`, `${name}, without what is hidden`]);
    expect(recorded()).toContain(prepared.environment.image!.reference);
    const { removed } = await cacheOf(0).prune();
    expect(removed.length).toBeGreaterThan(0);
    expect(await cacheOf(0).prune()).toEqual({ removed: [], bytes: 0 });
    expect(recorded()).toEqual([]);
    for (const { id } of records) expect(await imageId(client, id)).toBeUndefined();
    expect(await imageId(client, named("base"))).toBe(base);
  });
});

describe.runIf(answers)("a pull", () => {
  it("brings an image once, by its digest, and puts it on record", async () => {
    const registry = await startRegistry(
      "box",
      Buffer.concat([...tar([{ type: "file", path: "a", content: randomBytes(KB), executable: false }])]),
    );
    const reference = `127.0.0.1:${registry.port}/box@${registry.digest}`;
    made.push(reference);
    try {
      const cache = cacheOf(2 ** 30);
      const id = await cache.pull(reference);
      const asked = registry.requests();
      expect(asked).toBeGreaterThan(0);
      expect(await cache.pull(reference)).toBe(id);
      expect(registry.requests()).toBe(asked);
      expect(readRecords(folder)).toMatchObject([{ id, reference, how: "pulled" }]);
      const other = reference.replace(registry.digest, `sha256:${sha256Of(Buffer.from("other"))}`);
      await expect(cache.pull(other)).rejects.toMatchObject({
        kind: "unavailable",
        message: expect.stringContaining(other),
      });
      expect((await cacheOf(0).prune()).removed).toMatchObject([{ reference }]);
      expect(await imageId(client, reference)).toBeUndefined();
    } finally {
      await registry.close();
    }
  });

  it("is refused before anything is fetched where the daemon's disk has no room", async () => {
    const registry = await startRegistry("box", Buffer.concat([...tar([])]));
    const full = createImageCache({ client, folder, maxBytes: 0, minFreeMb: 2 ** 40, pinned: [] });
    try {
      const refused = full.pull(`127.0.0.1:${registry.port}/box@${registry.digest}`);
      await expect(refused).rejects.toMatchObject({
        kind: "disk",
        message: expect.stringMatching(/ has \d+ MB of free disk, pulling 127.* needs \d+ MB/),
      });
      expect(registry.requests()).toBe(0);
    } finally {
      await registry.close();
    }
  });
});
