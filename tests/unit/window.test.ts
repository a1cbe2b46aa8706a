import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mapWindow, slidingWindow } from "../../workflows/window.ts";

const sleep = (ticks: number) => new Promise<void>((resolve) => setTimeout(resolve, ticks));

describe("mapWindow", () => {
  it("keeps index order and its limit, whatever order the work ends in", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 12 }),
        fc.integer({ min: 1, max: 5 }),
        async (delays, limit) => {
          let flying = 0;
          let most = 0;
          const results = await mapWindow(delays, limit, async (delay, index) => {
            most = Math.max(most, ++flying);
            await sleep(delay);
            flying--;
            return index;
          });
          expect(results).toEqual(delays.map((_, index) => index));
          expect(most).toBeLessThanOrEqual(limit);
        },
      ),
      { numRuns: 30 },
    );
  });

  it("throws the first failure by index once what had started has ended", async () => {
    const ended: number[] = [];
    const run = mapWindow([3, 0, 1], 3, async (delay, index) => {
      await sleep(delay);
      ended.push(index);
      if (index < 2) throw new Error(`piece ${index}`);
    });
    await expect(run).rejects.toThrow("piece 0");
    expect(ended.sort()).toEqual([0, 1, 2]);
  });
});

describe("mapWindow that is cut", () => {
  it("returns the results of the first items, all of which have ended", async () => {
    let ended = 0;
    const results = await mapWindow(
      [3, 0, 1, 0, 2, 0],
      2,
      async (delay, index) => {
        await sleep(delay);
        ended++;
        return index;
      },
      () => ended >= 2,
    );
    expect(results).toEqual([0, 1, 2, 3, 4, 5].slice(0, ended));
    expect(ended).toBeGreaterThanOrEqual(2);
    // One more may be in flight.
    expect(ended).toBeLessThanOrEqual(3);
  });
});

describe("slidingWindow", () => {
  it("settles in index order, never runs more than its limit, and stops when told", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 15 }),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 15 }),
        async (delays, limit, enough) => {
          const items = delays.entries();
          const settled: number[] = [];
          let started = 0;
          let cancelled = 0;
          await slidingWindow<[number, number], number>({
            limit,
            next: async () => items.next().value ?? null,
            work: async ([index, delay]) => {
              started++;
              expect(started - settled.length).toBeLessThanOrEqual(limit);
              await sleep(delay);
              return index;
            },
            settle: ([index], result) => {
              expect(result).toBe(index);
              settled.push(index);
              return settled.length < enough;
            },
            cancel: () => {
              cancelled++;
            },
          });
          expect(settled).toEqual(delays.slice(0, enough).map((_, index) => index));
          expect(cancelled).toBe(delays.length >= enough ? 1 : 0);
          expect(started).toBeLessThanOrEqual(
            settled.length + limit - 1 + (started === settled.length ? 1 : 0),
          );
        },
      ),
      { numRuns: 30 },
    );
  });

  it("cut anywhere and taken up again settles what one window settles", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 15 }),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 15 }),
        fc.integer({ min: 1, max: 5 }),
        async (delays, limit, enough, perWindow) => {
          const items = delays.entries();
          const settled: number[] = [];
          const ends: string[] = [];
          do {
            let started = 0;
            ends.push(
              await slidingWindow<[number, number], number>({
                limit,
                next: async () => items.next().value ?? null,
                work: async ([index, delay]) => {
                  started++;
                  await sleep(delay);
                  return index;
                },
                settle: (_, result) => {
                  settled.push(result);
                  return settled.length < enough;
                },
                cancel: () => {},
                cut: () => started >= perWindow,
              }),
            );
          } while (ends.at(-1) === "cut");
          expect(settled).toEqual(delays.slice(0, enough).map((_, index) => index));
          expect(ends.at(-1)).toBe(delays.length >= enough ? "enough" : "exhausted");
        },
      ),
      { numRuns: 30 },
    );
  });
});
