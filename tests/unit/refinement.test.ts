/** Refinement: after each probe exactly one named action, as its diagnosis and the means at hand have it. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CAUSES } from "../../core/diagnosis.ts";
import { decide } from "../../core/learnability.ts";
import {
  dropReasonOf,
  type Means,
  type ProbeOutcome,
  probeDecision,
  refinementAction,
} from "../../core/refinement.ts";
import { applyOverrides } from "../../core/schemas/index.ts";
import type { StatementLevel } from "../../core/task.ts";
import { smallestSettings } from "../support/smallest.ts";

const half = { low: 0.5, high: 0.5 };
const NOTHING: Means = { rewrite: false, harden: false, sendBack: false, hint: false };
const probe: ProbeOutcome = {
  decision: "admit",
  level: 1,
  probed: [1],
  refinements: 0,
  maxRefinements: 3,
  minLevel: 0,
  maxLevel: 3,
};
const act = (change: Partial<ProbeOutcome>) => refinementAction({ ...probe, ...change });
const drop = (reason: string) => ({ action: "drop", reason });

it("records an action by its name, and a candidate that is dropped with the reason, which is read again", () => {
  expect(probeDecision({ action: "raise-level", level: 2 })).toBe("raise-level");
  const dropped = probeDecision({ action: "drop", reason: "weak-tests" });
  expect(dropped).toBe("drop: weak-tests");
  expect([dropReasonOf(dropped), dropReasonOf("admit")]).toEqual(["weak-tests", null]);
});

describe("levels alone", () => {
  it("admits in band, says less when too easy and more when too hard", () => {
    expect(act({})).toEqual({ action: "admit" });
    expect(act({ decision: "all-pass" })).toEqual({ action: "lower-level", level: 0 });
    expect(act({ decision: "too-hard" })).toEqual({ action: "raise-level", level: 2 });
  });

  it("drops with the reason", () => {
    expect(act({ decision: "all-pass", minLevel: 1 })).toEqual(drop("too-easy-at-least-specific"));
    expect(act({ decision: "all-fail", level: 3, probed: [3] })).toEqual(drop("too-hard-at-most-specific"));
    expect(act({ decision: "too-easy", level: 2, probed: [1, 2] })).toEqual(drop("between-levels"));
    expect(act({ decision: "too-hard", refinements: 3 })).toEqual(drop("refinements-spent"));
    expect(act({ decision: "all-fail", maxRefinements: 0 })).toEqual(drop("refinements-spent"));
  });

  it("never goes below what the tests need", () => {
    expect(act({ decision: "all-pass", neededLevel: 1 })).toEqual(drop("too-easy-at-least-specific"));
    expect(act({ decision: "all-pass", level: 2, probed: [2], neededLevel: 1 })).toEqual({
      action: "lower-level",
      level: 1,
    });
  });

  it("takes no notice of a diagnosis", () => {
    for (const cause of CAUSES)
      for (const decision of ["all-pass", "all-fail", "too-easy", "too-hard"] as const)
        expect(act({ decision, cause })).toEqual(act({ decision }));
  });
});

describe("a model that writes", () => {
  const means = { ...NOTHING, rewrite: true };
  const otherwise = { action: "raise-level", level: 2 };

  it("says more of the behaviour, or what the tests need, and names what is done where it cannot", () => {
    expect(act({ decision: "all-fail", cause: "too-hard", means })).toEqual({
      action: "add-behaviour",
      level: 1,
      otherwise,
    });
    expect(act({ decision: "all-fail", cause: "statement-test-disagreement", means })).toEqual({
      action: "state-contract",
      level: 1,
      otherwise,
    });
  });

  it("does each once, then levels", () => {
    const again = { decision: "all-fail", cause: "too-hard", means, refinements: 1 } as const;
    expect(act({ ...again, done: ["add-behaviour"] })).toEqual(otherwise);
    expect(act({ ...again, done: ["state-contract"] })).toMatchObject({ action: "add-behaviour" });
  });

  it("takes the place out of a text that names it, where it is not the template that does", () => {
    expect(act({ decision: "all-pass", cause: "leak", means })).toMatchObject({
      action: "remove-localisation",
      level: 1,
      otherwise: { action: "lower-level", level: 0 },
    });
    expect(act({ decision: "all-pass", cause: "leak", level: 2, probed: [2], means })).toEqual({
      action: "lower-level",
      level: 1,
    });
  });

  it("shows the place first to who does not find it", () => {
    for (const cause of ["does-not-find-the-place", "cut-short"] as const)
      expect(act({ decision: "all-fail", cause, means })).toEqual(otherwise);
    expect(
      act({ decision: "all-fail", cause: "does-not-find-the-place", level: 3, probed: [3], means }),
    ).toMatchObject({ action: "add-behaviour", level: 3, otherwise: drop("too-hard-at-most-specific") });
  });

  it("finds what lies between two levels", () => {
    expect(
      act({ decision: "too-easy", cause: "too-easy", level: 2, probed: [1, 2], refinements: 1, means }),
    ).toEqual({ action: "add-behaviour", level: 1, otherwise: drop("between-levels") });
  });
});

describe("other means", () => {
  it("send what is wrong with the tests back to the author, and drop it where there is none", () => {
    const sendBack = { ...NOTHING, sendBack: true };
    for (const cause of ["weak-tests", "shortcut"] as const)
      expect(act({ decision: "all-pass", cause, means: sendBack })).toEqual({ action: "send-back" });
    for (const cause of ["weak-tests", "unsolvable", "statement-test-disagreement"] as const)
      expect(act({ decision: "all-fail", cause, means: sendBack })).toEqual({ action: "send-back" });
    const rewrite = { ...NOTHING, rewrite: true };
    expect(act({ decision: "all-pass", cause: "weak-tests", means: rewrite })).toEqual(drop("weak-tests"));
    expect(act({ decision: "all-fail", cause: "unsolvable", means: rewrite })).toEqual(drop("unsolvable"));
  });

  it("combine with another mistake, once, what no level makes hard enough", () => {
    const means = { ...NOTHING, harden: true };
    const least = { decision: "all-pass", cause: "too-easy", level: 0, probed: [1, 0], means } as const;
    expect(act({ ...least, level: 1, probed: [1] })).toEqual({ action: "lower-level", level: 0 });
    expect(act(least)).toEqual({ action: "harden" });
    expect(act({ ...least, done: ["harden"] })).toEqual(drop("too-easy-at-least-specific"));
    expect(act({ ...least, decision: "all-fail" })).not.toMatchObject({ action: "harden" });
  });

  it("hint only where nobody solves it with all that may be said", () => {
    const means = { ...NOTHING, hint: true };
    const most = { decision: "all-fail", cause: "too-hard", level: 2, maxLevel: 2, means } as const;
    expect(act({ ...most, probed: [2] })).toEqual({ action: "hint", level: 3 });
    expect(act({ ...most, decision: "too-hard" })).toEqual(drop("too-hard-at-most-specific"));
    expect(act({ ...most, level: 3, maxLevel: 3 })).toEqual(drop("too-hard-at-most-specific"));
    expect(act({ ...most, maxLevel: 3 })).toEqual({ action: "raise-level", level: 3 });
  });
});

describe("any task", () => {
  const level = fc.constantFrom<StatementLevel>(0, 1, 2, 3);
  const levels = fc.tuple(level, level, level).map((three) => three.sort((a, b) => a - b));

  it("ends by levels within its bounds, without probing one twice", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 8 }), { minLength: 4, maxLength: 4 }),
        levels,
        fc.nat({ max: 4 }),
        (passesAtLevel, [minLevel, start, maxLevel], maxRefinements) => {
          const probed: StatementLevel[] = [];
          let current = start!;
          for (let refinements = 0; ; refinements++) {
            expect(probed).not.toContain(current);
            expect(current).toBeGreaterThanOrEqual(minLevel!);
            expect(current).toBeLessThanOrEqual(maxLevel!);
            expect(refinements).toBeLessThanOrEqual(maxRefinements);
            probed.push(current);
            const passes = passesAtLevel[current]!;
            const action = act({
              decision: decide(passes, 8, half),
              level: current,
              probed,
              refinements,
              maxRefinements,
              minLevel: minLevel!,
              maxLevel: maxLevel!,
            });
            expect(action.action === "admit").toBe(passes === 4);
            if (action.action !== "raise-level" && action.action !== "lower-level") return;
            current = action.level;
          }
        },
      ),
    );
  });

  it("ends whatever its diagnoses and means are, and never says less than its tests need", () => {
    fc.assert(
      fc.property(
        fc.infiniteStream(fc.record({ passes: fc.nat({ max: 8 }), cause: fc.constantFrom(...CAUSES) })),
        levels,
        level,
        fc.record({
          rewrite: fc.boolean(),
          harden: fc.boolean(),
          sendBack: fc.boolean(),
          hint: fc.boolean(),
        }),
        fc.nat({ max: 6 }),
        (rounds, [minLevel, start, maxLevel], neededLevel, means, maxRefinements) => {
          let current = Math.max(start!, neededLevel) as StatementLevel;
          let probed: StatementLevel[] = [];
          const done: string[] = [];
          for (let refinements = 0; ; refinements++) {
            expect(refinements).toBeLessThanOrEqual(maxRefinements);
            probed.push(current);
            const { passes, cause } = rounds.next().value!;
            const action = act({
              ...{
                decision: decide(passes, 8, half),
                cause,
                level: current,
                probed,
                done,
                means,
                neededLevel,
              },
              ...{ refinements, maxRefinements, minLevel: minLevel!, maxLevel: maxLevel! },
            });
            if (action.action === "admit" || action.action === "drop" || action.action === "hint") return;
            if ("level" in action)
              expect(action.level).toBeGreaterThanOrEqual(Math.min(current, neededLevel));
            if (action.action !== "raise-level" && action.action !== "lower-level") {
              probed = [];
              if (action.action !== "send-back") expect(done).not.toContain(action.action);
            }
            done.push(action.action);
            if ("level" in action) current = action.level;
          }
        },
      ),
    );
  });
});

describe("the settings", () => {
  const refused =
    (...overrides: string[]) =>
    () =>
      applyOverrides(smallestSettings, overrides);

  it("need a model where one is to write or to be shown anything, and a level to hint with", () => {
    const nobody = "where synthesis.author is null";
    expect(refused("filter.refiner=model")).toThrow(`filter.refiner: expected levels ${nobody}`);
    expect(refused("filter.failuresShown=3")).toThrow(`filter.failuresShown: expected 0 ${nobody}`);
    expect(refused("filter.hintLadder=true", "synthesis.maxLevel=3")).toThrow(
      "filter.hintLadder: expected false where synthesis.maxLevel is 3",
    );
    const author = "synthesis.author={baseUrl: 'http://127.0.0.1:9', model: m}";
    expect(
      refused(
        author,
        "filter.refiner=model",
        "filter.failuresShown=3",
        "filter.hintLadder=true",
        "synthesis.maxLevel=2",
      ),
    ).not.toThrow();
  });
});
