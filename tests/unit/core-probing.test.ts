/** Sequential probing: the same decisions from fewer rollouts, and labels that stopping does not bias. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { admittedPasses, decide, direction } from "../../core/learnability.ts";
import {
  canAdmit,
  decideProbe,
  estimatedRate,
  nextRollouts,
  type ProbePlan,
  probeEnds,
} from "../../core/probing.ts";

const band = fc
  .tuple(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 20 }))
  .map(([a, b]) => ({ low: Math.min(a, b) / 20, high: Math.max(a, b) / 20 }));
const UNIFORM = { passes: 1, failures: 1 };
const prior = fc.constantFrom(UNIFORM, { passes: 0.3, failures: 0.3 }, { passes: 0.5, failures: 2 });
const plan = (stopError: fc.Arbitrary<number | null>): fc.Arbitrary<ProbePlan> =>
  fc
    .record({ runs: fc.integer({ min: 2, max: 12 }), band, stopError, prior })
    // Bands that hold no count at all are refused with the settings.
    .filter((of) => {
      const { min, max } = admittedPasses(of.runs, of.band);
      return min <= max;
    });
const anyPlan = plan(fc.constantFrom(null, 0, 0.01, 0.1, 0.3));
const rate = fc.double({ min: 0, max: 1, noNaN: true });
const PAPER: ProbePlan = { runs: 8, band: { low: 0.5, high: 0.5 }, stopError: 0, prior: UNIFORM };

/** Reads results one by one, as if each had been asked for alone. */
function oneByOne(of: ProbePlan, results: readonly boolean[]) {
  let passes = 0;
  for (let runs = 1; ; runs++) {
    if (results[runs - 1]) passes++;
    const decision = decideProbe(of, { passes, runs });
    if (decision !== null) return { passes, runs, decision };
  }
}

describe("a probe that may stop early", () => {
  it("stops where the rest cannot change the decision (8 rollouts, exactly half)", () => {
    expect(decideProbe(PAPER, { passes: 0, runs: 4 })).toBeNull();
    expect(decideProbe(PAPER, { passes: 0, runs: 5 })).toBe("too-hard");
    expect(decideProbe(PAPER, { passes: 5, runs: 5 })).toBe("too-easy");
    expect(decideProbe(PAPER, { passes: 4, runs: 7 })).toBeNull();
    expect(decideProbe(PAPER, { passes: 4, runs: 8 })).toBe("admit");
    const general: ProbePlan = { ...PAPER, band: { low: 0, high: 1 } };
    expect(decideProbe(general, { passes: 1, runs: 2 })).toBe("admit");
    expect(decideProbe(general, { passes: 7, runs: 7 })).toBeNull();
    expect(decideProbe(general, { passes: 8, runs: 8 })).toBe("all-pass");
  });

  it("decides without an error rate what the complete probe decides, for every order of results", () => {
    const property = (of: ProbePlan, bits: readonly boolean[]) => {
      const results = bits.slice(0, of.runs);
      const { decision } = oneByOne(of, results);
      const whole = decide(results.filter(Boolean).length, of.runs, of.band);
      expect(direction(decision)).toBe(direction(whole));
    };
    const bits = fc.array(fc.boolean(), { minLength: 12, maxLength: 12 });
    fc.assert(fc.property(plan(fc.constant(0)), bits, property));
  });

  it("without early stops reads all N", () => {
    const property = (of: ProbePlan, p: number) => {
      expect(new Set(probeEnds(of, p).map(({ runs }) => runs))).toEqual(new Set([of.runs]));
    };
    fc.assert(fc.property(plan(fc.constant(null)), rate, property));
  });

  it("admits nothing that the complete probe would not, and gives up on at most the share that was asked for", () => {
    for (const stopError of [0.01, 0.05, 0.1])
      for (const high of [0.5, 0.75]) {
        const of: ProbePlan = { runs: 10, band: { low: 0.5, high }, stopError, prior: UNIFORM };
        const grid = 100;
        let givenUp = 0;
        for (let i = 0; i < grid; i++) {
          const p = (i + 0.5) / grid;
          for (const end of probeEnds(of, p)) {
            const left = of.runs - end.runs;
            const unread: ProbePlan = { ...of, runs: left, stopError: null };
            const rest = left === 0 ? [{ passes: 0, probability: 1 }] : probeEnds(unread, p);
            for (const { passes, probability } of rest) {
              const whole = decide(end.passes + passes, of.runs, of.band);
              if (end.decision === "admit") expect(whole).toBe("admit");
              else if (whole === "admit") givenUp += (end.probability * probability) / grid;
            }
          }
        }
        expect(givenUp).toBeLessThanOrEqual(stopError + 1e-3);
        expect(givenUp).toBeGreaterThan(0);
      }
  });

  it("tells a plan that can admit nothing", () => {
    expect(canAdmit({ ...PAPER, stopError: 0.05 })).toBe(true);
    // Half of eight has a chance of 1/9 before the first result.
    expect(canAdmit({ ...PAPER, stopError: 0.2 })).toBe(false);
    expect(canAdmit({ ...PAPER, stopError: null, band: { low: 0.3, high: 0.3 } })).toBe(false);
  });

  it("runs in waves no rollout that could have been left out, and none of a wave decides before its last", () => {
    const property = (of: ProbePlan, bits: readonly boolean[]) => {
      let counts = { passes: 0, runs: 0 };
      for (;;) {
        const more = nextRollouts(of, counts);
        if (more === 0) break;
        expect(counts.runs + more).toBeLessThanOrEqual(of.runs);
        const passes = counts.passes + bits.slice(counts.runs, counts.runs + more).filter(Boolean).length;
        counts = { passes, runs: counts.runs + more };
      }
      const { decision, ...alone } = oneByOne(of, bits);
      expect(counts).toEqual(alone);
      expect(decideProbe(of, counts)).toBe(decision);
    };
    fc.assert(fc.property(anyPlan, fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }), property));
  });
});

describe("the pass rate of a probe that stopped", () => {
  it("has the true rate as its mean, whatever the plan", () => {
    const property = (of: ProbePlan, p: number) => {
      const ends = probeEnds(of, p);
      const mean = ends.reduce((sum, end) => sum + end.probability * estimatedRate(of, end), 0);
      expect(ends.reduce((sum, end) => sum + end.probability, 0)).toBeCloseTo(1, 9);
      expect(mean).toBeCloseTo(p, 9);
    };
    fc.assert(fc.property(anyPlan, rate, property));
  });

  it("is passes / runs where nothing stops early, and is not where something does", () => {
    expect(estimatedRate({ ...PAPER, stopError: null }, { passes: 3, runs: 8 })).toBeCloseTo(3 / 8, 12);
    // Five failures end it; with one pass before the last of them, that pass came first in one order of five.
    expect(estimatedRate(PAPER, { passes: 1, runs: 6 })).toBeCloseTo(1 / 5, 12);
    const ends = probeEnds(PAPER, 0.4);
    const naive = ends.reduce((sum, { probability, passes, runs }) => sum + (probability * passes) / runs, 0);
    expect(Math.abs(naive - 0.4)).toBeGreaterThan(0.005);
  });

  it("refuses counts that the plan never comes to", () => {
    expect(() => estimatedRate(PAPER, { passes: 0, runs: 6 })).toThrow("never comes to 0 of 6");
    expect(() => estimatedRate(PAPER, { passes: 2, runs: 9 })).toThrow(RangeError);
    expect(() => decideProbe(PAPER, { passes: 2, runs: 9 })).toThrow(RangeError);
  });
});
