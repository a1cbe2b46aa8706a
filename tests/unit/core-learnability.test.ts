/** Filter by learnability: decisions on counts. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { admittedPasses, decide } from "../../core/learnability.ts";
import { applyOverrides, parseExperimentFile } from "../../core/schemas/index.ts";

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
