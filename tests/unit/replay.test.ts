/** What a replay makes anew, decided without any record. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isReplayable, PIECES, REPLAYABLE, remade } from "../../core/replay.ts";
import { REPLAY_PHASES } from "../../core/reuse.ts";

const WIDTH = { none: 0, later: 1, all: 2 };

describe("remade", () => {
  it("re-uses everything where nothing is asked for", () => {
    expect(new Set(Object.values(remade([], null)))).toEqual(new Set(["none"]));
  });

  it("makes only later phases anew from a phase on", () => {
    expect(remade([], "update")).toMatchObject({
      "climb rollouts": "none",
      "climb verdicts": "none",
      updates: "all",
      "selection rollouts": "all",
    });
  });

  it("follows another optimizer into the rollouts of later policies, not of the first", () => {
    expect(remade(["optimizer.learningRate"], null)).toMatchObject({
      "probe rollouts": "none",
      "climb rollouts": "later",
      updates: "all",
      "selection verdicts": "all",
    });
  });

  it("never makes less anew for more overrides or an earlier phase", () => {
    const paths = fc.subarray([...REPLAYABLE]);
    fc.assert(
      fc.property(paths, paths, fc.nat(4), fc.nat(4), (some, others, x, y) => {
        const less = remade(some, REPLAY_PHASES[Math.max(x, y)]!);
        const more = remade([...some, ...others], REPLAY_PHASES[Math.min(x, y)]!);
        for (const piece of PIECES)
          expect(WIDTH[more[piece]], piece).toBeGreaterThanOrEqual(WIDTH[less[piece]]);
      }),
    );
  });

  it("knows settings that a single iteration does not read", () => {
    expect(
      ["iterations", "environments.train", "toString", "evaluation.sets.heldout.tasks"].filter(isReplayable),
    ).toEqual([]);
    expect(isReplayable("filter.band.low")).toBe(true);
  });
});
