/** Filter by learnability and refinement: decisions on counts. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { admittedPasses, decide } from "../../core/learnability.ts";
import { type ProbeOutcome, refinementAction } from "../../core/refinement.ts";
import { applyOverrides, parseExperimentFile } from "../../core/schemas/index.ts";
import type { StatementLevel } from "../../core/task.ts";

const half = { low: 0.5, high: 0.5 };
const band = fc
  .tuple(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 0, max: 100 }))
  .map(([a, b]) => ({ low: Math.min(a, b) / 100, high: Math.max(a, b) / 100 }));
const counts = fc
  .integer({ min: 1, max: 60 })
  .chain((runs) => fc.record({ runs: fc.constant(runs), passes: fc.integer({ min: 0, max: runs }) }));

describe("decide", () => {
  it("admits half of eight in the paper's band, and tells the sides and the extremes apart", () => {
    const decisions = [0, 1, 3, 4, 5, 7, 8].map((passes) => decide(passes, 8, half));
    expect(decisions).toEqual([
      "all-fail",
      "too-hard",
      "too-hard",
      "admit",
      "too-easy",
      "too-easy",
      "all-pass",
    ]);
  });

  it("admits neither extreme, so that 0..1 is the general region and 0..0.5 the fifth iteration's", () => {
    expect([0, 1, 7, 8].map((passes) => decide(passes, 8, { low: 0, high: 1 }))).toEqual([
      "all-fail",
      "admit",
      "admit",
      "all-pass",
    ]);
    expect([0, 1, 4, 5].map((passes) => decide(passes, 8, { low: 0, high: 0.5 }))).toEqual([
      "all-fail",
      "admit",
      "admit",
      "too-easy",
    ]);
  });

  it("admits exactly the counts between bounds given as decimals", () => {
    // In floating point 0.29 * 100 < 29, 0.07 * 100 > 7 and 0.57 * 100 < 57.
    expect(admittedPasses(100, { low: 0.07, high: 0.29 })).toEqual({ min: 7, max: 29 });
    fc.assert(
      fc.property(counts, band, ({ passes, runs }, bounds) => {
        const [low, high] = [Math.round(bounds.low * 100), Math.round(bounds.high * 100)];
        const inBand = low * runs <= passes * 100 && passes * 100 <= high * runs;
        const mixed = passes > 0 && passes < runs;
        expect(decide(passes, runs, bounds) === "admit").toBe(inBand && mixed);
      }),
    );
  });

  it("refuses counts that cannot be", () => {
    for (const [passes, runs] of [
      [1, 0],
      [-1, 4],
      [5, 4],
      [0.5, 4],
    ] as const)
      expect(() => decide(passes, runs, half)).toThrow(RangeError);
  });
});

describe("the settings", () => {
  const settings = parseExperimentFile(
    `
policy: { kind: nano }
environments: { train: [a] }
selection: { set: { environments: [a], tasks: 4 } }
evaluation: { sets: { unseen: { environments: [b], tasks: 4 } } }
`,
    "x.yaml",
  );
  const withBand = (bounds: string) => () => applyOverrides(settings, [`filter.band=${bounds}`]);

  it.each(["{low: 0, high: 0}", "{low: 1, high: 1}"])(
    "refuse the band %s, which admits no task",
    (bounds) => {
      expect(withBand(bounds)).toThrow(
        "filter.band: expected a band that holds at least one of 1..7 passes of 8 (filter.probes)",
      );
    },
  );

  it("refuse an error at which every probe is given up", () => {
    expect(() => applyOverrides(settings, ["filter.stopError=0.2"])).toThrow(
      "filter.stopError: expected less, for a band of 4..4 passes of 8: every probe would be given up before it can admit its task, found 0.2",
    );
    expect(() => applyOverrides(settings, ["filter.stopError=0.05"])).not.toThrow();
    expect(() => applyOverrides(settings, ["filter.prior.passes=0"])).toThrow("filter.prior.passes");
  });

  it("take the narrowest bands beside them", () => {
    for (const bounds of ["{low: 0, high: 0.125}", "{low: 0.875, high: 1}"])
      expect(withBand(bounds)).not.toThrow();
  });
});

const probe: ProbeOutcome = {
  decision: "admit",
  level: 1,
  probed: [1],
  refinements: 0,
  maxRefinements: 3,
  minLevel: 0,
  maxLevel: 3,
};

describe("refinement", () => {
  it("admits in band, says less when too easy and more when too hard", () => {
    expect(refinementAction(probe)).toEqual({ action: "admit" });
    expect(refinementAction({ ...probe, decision: "all-pass" })).toEqual({ action: "refine", level: 0 });
    expect(refinementAction({ ...probe, decision: "too-hard" })).toEqual({ action: "refine", level: 2 });
  });

  it("drops with the reason", () => {
    const reason = (change: Partial<ProbeOutcome>) => refinementAction({ ...probe, ...change });
    const drop = (text: string) => ({ action: "drop", reason: text });
    expect(reason({ decision: "all-pass", minLevel: 1 })).toEqual(drop("too-easy-at-least-specific"));
    expect(reason({ decision: "all-fail", level: 3, probed: [3] })).toEqual(
      drop("too-hard-at-most-specific"),
    );
    expect(reason({ decision: "too-easy", level: 2, probed: [1, 2] })).toEqual(drop("between-levels"));
    expect(reason({ decision: "too-hard", refinements: 3 })).toEqual(drop("refinements-spent"));
    expect(reason({ decision: "all-fail", maxRefinements: 0 })).toEqual(drop("refinements-spent"));
  });

  it("ends for every task, within its levels and its budget, without probing a level twice", () => {
    const level = fc.constantFrom<StatementLevel>(0, 1, 2, 3);
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 8 }), { minLength: 4, maxLength: 4 }),
        fc.tuple(level, level, level).map((levels) => levels.sort((a, b) => a - b)),
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
            const action = refinementAction({
              ...probe,
              decision: decide(passes, 8, half),
              level: current,
              probed,
              refinements,
              maxRefinements,
              minLevel: minLevel!,
              maxLevel: maxLevel!,
            });
            expect(action.action === "admit").toBe(passes === 4);
            if (action.action !== "refine") return;
            current = action.level;
          }
        },
      ),
    );
  });
});
