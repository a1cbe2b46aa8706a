/** Which images of the cache go, over all caches. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { freeBytes, requireRoom } from "../../services/sandbox/disk.ts";
import { type CachedImage, planEviction } from "../../services/sandbox/images/plan.ts";
import { readRecords, removeRecord, touchRecord, writeRecord } from "../../services/sandbox/images/record.ts";

const image: fc.Arbitrary<CachedImage> = fc.record({
  id: fc.uuid(),
  bytes: fc.integer({ min: 0, max: 100 }),
  lastUsed: fc.integer({ min: 0, max: 9 }),
  inUse: fc.boolean(),
  ours: fc.boolean(),
});
const images = fc.uniqueArray(image, { maxLength: 12, selector: ({ id }) => id });
const limits = fc
  .tuple(fc.integer({ min: 0, max: 500 }), fc.integer({ min: 0, max: 500 }), fc.integer({ min: 0, max: 300 }))
  .map(([a, b, lackingBytes]) => ({ highBytes: Math.max(a, b), lowBytes: Math.min(a, b), lackingBytes }));
const sum = (list: readonly CachedImage[]) => list.reduce((total, { bytes }) => total + bytes, 0);

describe("the plan", () => {
  it("names only what Tadpole brought and nothing uses, the least recently used first", () => {
    fc.assert(
      fc.property(images, limits, (all, given) => {
        const plan = planEviction(all, given).map((id) => all.find((one) => one.id === id)!);
        expect(plan.every(({ ours, inUse }) => ours && !inUse)).toBe(true);
        const kept = all.filter((one) => one.ours && !one.inUse && !plan.includes(one));
        for (const gone of plan)
          for (const stays of kept) expect(gone.lastUsed).toBeLessThanOrEqual(stays.lastUsed);
      }),
    );
  });

  it("frees enough, or all that may go", () => {
    fc.assert(
      fc.property(images, limits, (all, given) => {
        const ids = planEviction(all, given);
        const freed = sum(all.filter(({ id }) => ids.includes(id)));
        const ours = sum(all.filter((one) => one.ours));
        const wanted = Math.max(ours > given.highBytes ? ours - given.lowBytes : 0, given.lackingBytes);
        const possible = all.filter((one) => one.ours && !one.inUse);
        if (freed < wanted) expect(ids.length).toBe(possible.length);
      }),
    );
  });

  it("names no image more than needed", () => {
    fc.assert(
      fc.property(images, limits, (all, given) => {
        const ids = planEviction(all, given);
        if (ids.length === 0) return;
        const freed = sum(all.filter(({ id }) => ids.slice(0, -1).includes(id)));
        const ours = sum(all.filter((one) => one.ours));
        const wanted = Math.max(ours > given.highBytes ? ours - given.lowBytes : 0, given.lackingBytes);
        expect(freed).toBeLessThan(wanted);
      }),
    );
  });
});

describe("records of images", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "images-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const record = { id: "sha256:ab", reference: "a:1", how: "pulled", lastUsed: 5 } as const;

  it("keep the latest use of what is on record alone", () => {
    writeRecord(folder, record);
    touchRecord(folder, "sha256:ab", 9);
    touchRecord(folder, "sha256:ab", 7);
    touchRecord(folder, "sha256:cd", 7);
    expect(readRecords(folder)).toEqual([{ ...record, lastUsed: 9 }]);
    removeRecord(folder, "sha256:ab");
    removeRecord(folder, "sha256:ab");
    expect(readRecords(folder)).toEqual([]);
  });

  it("are none where a file is no record, or the folder is not there", () => {
    writeRecord(folder, record);
    writeFileSync(join(folder, "broken.json"), "{");
    writeFileSync(join(folder, "other.json"), "{}");
    expect(readRecords(folder)).toEqual([record]);
    expect(readRecords(join(folder, "none"))).toEqual([]);
  });
});

describe("room on a disk", () => {
  it("is that of the nearest folder that exists", async () => {
    const there = await freeBytes(tmpdir());
    const below = await freeBytes(join(tmpdir(), "not", "there"));
    expect(below).toBeGreaterThan(0);
    expect(Math.abs(below - there)).toBeLessThan(2 ** 30);
    await requireRoom(join(tmpdir(), "not", "there"), 1, "a test");
  });

  it("is refused by path and number", async () => {
    const refusal = expect(requireRoom("/", 2 ** 40, "booting a sandbox")).rejects;
    await refusal.toMatchObject({
      kind: "disk",
      message: expect.stringMatching(/^\/ has \d+ MB of free disk, booting a sandbox needs 1099511627776 MB/),
    });
  });
});
