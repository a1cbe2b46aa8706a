/** Pieces of an activity at the same time: their order, and that none goes on after the activity. */
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sideBySide } from "../../activities/side-by-side.ts";

const never = new AbortController().signal;

describe("side by side", () => {
  it("gives results in the order of the items, whatever order they come in", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(5)), async (delays) => {
        const results = await sideBySide(delays, never, async (delay) => {
          await sleep(delay);
          return delay;
        });
        expect(results).toEqual(delays);
      }),
      { numRuns: 20 },
    );
  });

  it("stops the others at the first failure, and throws it once they have ended", async () => {
    const ended: string[] = [];
    const run = sideBySide(["slow", "fails"], never, async (name, signal) => {
      if (name === "fails") throw new Error("the first failure");
      await sleep(60_000, null, { signal }).catch(() => sleep(5));
      ended.push(name);
      throw new Error("a later failure");
    });
    await expect(run).rejects.toThrow("the first failure");
    expect(ended).toEqual(["slow"]);
  });

  it("is stopped from outside", async () => {
    const stop = new AbortController();
    const run = sideBySide([1, 2], stop.signal, (_, signal) => sleep(60_000, null, { signal }));
    stop.abort();
    await expect(run).rejects.toThrow(/abort/i);
  });
});
