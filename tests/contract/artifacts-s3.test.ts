/** A bucket of a real S3-compatible server meets the contract of artifact stores, and what only a store elsewhere has to. */
import { mkdtemp, readdir, readFile, rm, stat, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { failureType } from "../../core/failures.ts";
import { sha256Of } from "../../services/store/index.ts";
import { createS3Artifacts, type S3Artifacts } from "../../services/store/s3-artifacts.ts";
import { s3Inventory } from "../../services/store/s3-inventory.ts";
import { hashParts, partSize, uploadFile } from "../../services/store/s3-upload.ts";
import { startTestS3, type TestS3 } from "../support/s3.ts";
import { artifactContract } from "./artifacts.ts";

/** The least that S3 takes as a part. */
const PART = 5 * 2 ** 20;

let server: TestS3;
let folder: string;
let made = 0;
beforeAll(async () => {
  server = await startTestS3();
});
afterAll(() => server?.stop());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tadpole-s3-cache-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Under a prefix of its own. */
async function open(
  cacheBytes: number,
): Promise<S3Artifacts & { readonly file: (sha256: string) => string }> {
  const prefix = `runs/${++made}`;
  const settings = { ...server.settings, prefix };
  const store = await createS3Artifacts(settings, {
    cacheFolder: join(folder, "cache"),
    cacheBytes,
    partBytes: PART,
  });
  return { ...store, file: (sha256) => server.file(store.bucket.keyOf(sha256)) };
}

// Without a cache: with one, what is damaged or lost behind the store's back still comes from it.
artifactContract("S3", async () => {
  const store = await open(0);
  return {
    store,
    async damage(sha256, how) {
      const file = store.file(sha256);
      if (how === "cut") return truncate(file, 5);
      const bytes = await readFile(file);
      bytes[3]! ^= 1;
      await writeFile(file, bytes);
    },
    lose: (sha256) => rm(store.file(sha256)),
    close: async () => store.bucket.close(),
  };
});

async function largeFile(name: string, bytes: number): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, Buffer.alloc(bytes, "weights of a policy, and then more of them; "));
  return file;
}

describe("a large file", () => {
  const bytes = 3 * PART + 12_345;

  it("goes in parts and comes back", async () => {
    const store = await open(0);
    const given = await largeFile("given", bytes);
    const ref = await store.putFile(given, "policy");
    expect(ref).toMatchObject({ sha256: sha256Of(await readFile(given)), bytes });
    await store.getFile(ref, join(folder, "taken"));
    expect((await readFile(join(folder, "taken"))).equals(await readFile(given))).toBe(true);
  });

  it("whose upload was cut goes on from the parts that the store has", async () => {
    const { bucket } = await open(0);
    const given = await largeFile("given", 7 * PART - 1);
    const parts = await hashParts(given, PART);
    const cut = new Error("cut");
    const first: number[] = [];
    await expect(
      uploadFile(bucket, given, parts, (index) => {
        first.push(index);
        if (first.length === 1) throw cut;
      }),
    ).rejects.toBe(cut);
    await server.kill();
    await server.start();
    expect(await bucket.head(bucket.keyOf(parts.sha256))).toBeNull();
    const second: number[] = [];
    await uploadFile(bucket, given, parts, (index) => second.push(index));
    // Four at once: those that were on their way arrived, those after them had to be sent.
    expect(second.length).toBeGreaterThanOrEqual(3);
    expect([...first, ...second].sort()).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(await bucket.head(bucket.keyOf(parts.sha256))).toMatchObject({ bytes: 7 * PART - 1 });
  });

  it("takes no part of an upload that is not its own", async () => {
    const store = await open(0);
    const given = await largeFile("given", bytes);
    const parts = await hashParts(given, PART);
    const other = { ...parts, parts: parts.parts.map((_, index) => sha256Of(Buffer.from(`${index}`))) };
    await expect(uploadFile(store.bucket, given, other)).rejects.toMatchObject({
      kind: "damaged",
      message: expect.stringContaining("was changed while it was put"),
    });
    // Sizes are equal; the checksums tell.
    const stale = await largeFile("stale", 0);
    await writeFile(stale, Buffer.alloc(bytes, "other weights"));
    const staleParts = await hashParts(stale, PART);
    await uploadFile(store.bucket, stale, { ...staleParts, sha256: parts.sha256 }, () => {
      throw new Error("cut");
    }).catch(() => {});
    const ref = await store.putFile(given, "policy");
    await store.getFile(ref, join(folder, "taken"));
    expect(sha256Of(await readFile(join(folder, "taken")))).toBe(parts.sha256);
  });

  it("may be put by two at once", async () => {
    const store = await open(0);
    const given = await largeFile("given", bytes);
    const refs = await Promise.all([store.putFile(given, "policy"), store.putFile(given, "policy")]);
    expect(refs[0]).toEqual(refs[1]);
    await store.getFile(refs[0]!, join(folder, "taken"));
  });

  it("has at most 10,000 parts, whatever its size", () => {
    expect(partSize(2 ** 20)).toBe(16 * 2 ** 20);
    const terabyte = 2 ** 40;
    expect(Math.ceil(terabyte / partSize(terabyte))).toBeLessThanOrEqual(10_000);
  });
});

describe("the cache", () => {
  const MB = 2 ** 20;

  it("answers without the store, checks what it has, and fetches what is damaged", async () => {
    const store = await open(8 * MB);
    const bytes = Buffer.from("a trajectory");
    const ref = await store.put(bytes, "trajectory");
    await rm(store.file(ref.sha256));
    expect(Buffer.from(await store.get(ref))).toEqual(bytes);
    await store.getFile(ref, join(folder, "taken"));
    expect(await readFile(join(folder, "taken"))).toEqual(bytes);
    await store.put(bytes, "trajectory");
    const kept = join(folder, "cache", ref.sha256.slice(0, 2), ref.sha256.slice(2));
    await writeFile(kept, "a trajectorx");
    expect(Buffer.from(await store.get(ref))).toEqual(bytes);
    expect(await readFile(kept)).toEqual(bytes);
  });

  it("stays within its bytes: what was read longest ago goes, and what is too large is not kept", async () => {
    const store = await open(4 * MB);
    const put = (fill: number, bytes = 400_000) => store.put(new Uint8Array(bytes).fill(fill), "batch");
    const kept = ({ sha256 }: { sha256: string }) =>
      stat(join(folder, "cache", sha256.slice(0, 2), sha256.slice(2))).then(
        () => true,
        () => false,
      );
    const [first, second] = [await put(1), await put(2)];
    // Read later than it was put, long before everything else.
    const age = async ({ sha256 }: { sha256: string }, seconds: number) => {
      const then = new Date(Date.now() - seconds * 1000);
      await utimes(join(folder, "cache", sha256.slice(0, 2), sha256.slice(2)), then, then);
    };
    await age(first, 2000);
    await age(second, 1000);
    await rm(store.file(first.sha256));
    for (let fill = 3; fill < 13; fill++) {
      await store.get(first);
      await put(fill);
    }
    expect([await kept(first), await kept(second)]).toEqual([true, false]);
    let total = 0;
    for (const entry of await readdir(join(folder, "cache"), { recursive: true, withFileTypes: true }))
      if (entry.isFile()) total += (await stat(join(entry.parentPath, entry.name))).size;
    expect(total).toBeLessThanOrEqual(4 * MB);
    expect(await kept(await put(99, MB))).toBe(false);
  });
});

describe("a store that cannot be used", () => {
  it("is unreachable while it is down, and work waits for it", async () => {
    const store = await open(0);
    const ref = await store.put(Buffer.from("x"), "log");
    await server.kill();
    try {
      for (const ask of [() => store.get(ref), () => store.put(Buffer.from("y"), "log")]) {
        const error = await ask().catch((error) => error);
        expect(error).toMatchObject({ name: "ArtifactError", kind: "unreachable" });
        expect(error.message).toContain(server.settings.endpoint);
        expect(failureType(error)).toBe("Unavailable");
      }
    } finally {
      await server.start();
    }
    expect(Buffer.from(await store.get(ref)).toString()).toBe("x");
  });

  it("says so when it is opened: no such bucket, wrong key", async () => {
    const options = { cacheFolder: join(folder, "cache"), cacheBytes: 0 };
    await expect(
      createS3Artifacts({ ...server.settings, bucket: "no-such-bucket" }, options),
    ).rejects.toMatchObject({ kind: "unreachable", message: expect.stringContaining("TADPOLE_ARTIFACTS") });
    const right = process.env.AWS_SECRET_ACCESS_KEY;
    process.env.AWS_SECRET_ACCESS_KEY = "wrong-secret";
    try {
      const error = await createS3Artifacts(server.settings, options).catch((error) => error);
      expect(error).toMatchObject({ kind: "unreachable" });
      expect(error.message).not.toContain("wrong-secret");
    } finally {
      process.env.AWS_SECRET_ACCESS_KEY = right;
    }
  });
});

describe("an object on its way out", () => {
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);

  it("can be read until it is gone, and can come back", async () => {
    const store = await open(0);
    const inventory = s3Inventory(store.bucket);
    const ref = await store.put(Buffer.from("a trajectory"), "log");
    const { sha256 } = ref;
    const anHourAgo = hoursAgo(1).getTime();
    expect(await inventory.takeOut(sha256, anHourAgo)).toBe(false);
    await utimes(store.file(sha256), hoursAgo(2), hoursAgo(2));
    expect(await inventory.takeOut(sha256, anHourAgo)).toBe(true);
    expect(await inventory.list()).toMatchObject({
      files: [],
      removing: [{ sha256, bytes: 12 }],
      unknown: [],
    });
    expect(Buffer.from(await store.get(ref)).toString()).toBe("a trajectory");
    await inventory.bringBack(sha256);
    await inventory.bringBack(sha256);
    expect(await inventory.list()).toMatchObject({ files: [{ sha256 }], removing: [] });
    await utimes(store.file(sha256), hoursAgo(2), hoursAgo(2));
    await inventory.takeOut(sha256, anHourAgo);
    await store.put(Buffer.from("a trajectory"), "log");
    await inventory.removeTakenOut(sha256);
    expect(Buffer.from(await store.get(ref)).toString()).toBe("a trajectory");
    await rm(store.file(sha256));
    expect(await inventory.isStored(sha256)).toBe(false);
  });
});
