/** The plan of a disturbed run: its moments, its targets, the options it is asked for by. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  isReached,
  momentOf,
  parseOutage,
  parseTargets,
  planKills,
  type Sample,
  TARGETS,
} from "../../chaos/plan.ts";

const seeds = fc.integer({ min: 0, max: 1_000_000 });
const profiles = fc
  .array(fc.record({ wait: fc.double({ min: 0.01, max: 5, noNaN: true }), more: fc.nat(3) }), {
    minLength: 1,
    maxLength: 60,
  })
  .map((steps) => {
    const profile: Sample[] = [{ at: 0, pieces: 0 }];
    for (const { wait, more } of steps) {
      const last = profile.at(-1)!;
      profile.push({ at: last.at + wait, pieces: last.pieces + more });
    }
    return profile;
  });

describe("planKills", () => {
  it("gives every process its share, in the order of the run, and the same for the same seed", () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: 0, max: 60 }), profiles, (seed, kills, profile) => {
        const plan = planKills(seed, kills, profile);
        expect(plan).toHaveLength(kills);
        expect(plan).toEqual(planKills(seed, kills, profile));
        const shares = TARGETS.map((name) => plan.filter(({ process }) => process === name).length);
        expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
        for (const [index, { moment }] of plan.entries())
          expect(isReached(moment, plan[index + 1]?.moment ?? { pieces: Infinity, seconds: 0 })).toBe(true);
      }),
    );
  });

  it("kills whom it is told to, and nobody else", () => {
    const plan = planKills(1, 7, [{ at: 0, pieces: 0 }], ["orchestrate", "sandbox"]);
    const shares = TARGETS.map((name) => plan.filter(({ process }) => process === name).length);
    expect(shares.toSorted()).toEqual([0, 0, 0, 0, 3, 4]);
    expect(new Set(plan.map(({ process }) => process))).toEqual(new Set(["orchestrate", "sandbox"]));
  });

  it("differs by seed", () => {
    const profile = [
      { at: 0, pieces: 0 },
      { at: 60, pieces: 100 },
    ];
    expect(planKills(1, 12, profile)).not.toEqual(planKills(2, 12, profile));
  });
});

describe("parseTargets", () => {
  it("reads names, each once and in the order of the stack", () => {
    expect(parseTargets("sandbox, orchestrate,sandbox")).toEqual(["orchestrate", "sandbox"]);
    expect(parseTargets(TARGETS.join(","))).toEqual(TARGETS);
  });

  it("names what it does not know, and whom it does", () => {
    for (const text of ["sandbox,wroker", "", "sandbox,"])
      expect(() => parseTargets(text)).toThrow(
        /^--target ".*": expected names out of temporal, postgres, policy, orchestrate, sandbox, gpu, found "(wroker)?"$/,
      );
  });
});

describe("momentOf", () => {
  it("is reached by the undisturbed run itself exactly when its time has come", () => {
    fc.assert(
      fc.property(profiles, fc.double({ min: 0, max: 0.99, noNaN: true }), (profile, fraction) => {
        const moment = momentOf(profile, fraction);
        expect(isReached(moment, moment)).toBe(true);
        expect(moment.seconds).toBeGreaterThanOrEqual(0);
        expect(isReached(moment, { ...moment, seconds: moment.seconds - 0.001 })).toBe(false);
        expect(isReached(moment, { pieces: moment.pieces + 1, seconds: 0 })).toBe(true);
        expect(isReached(moment, { pieces: moment.pieces - 1, seconds: 1e9 })).toBe(false);
      }),
    );
  });
});

describe("parseOutage", () => {
  it("reads a process and its seconds", () => {
    expect(parseOutage("postgres:60")).toEqual({ process: "postgres", seconds: 60 });
    expect(parseOutage("temporal:5")).toEqual({ process: "temporal", seconds: 5 });
  });

  it("says what it expected of anything else", () => {
    for (const text of [
      "sandbox:60",
      "postgres",
      "postgres:0",
      "postgres:-1",
      "postgres:1.5",
      "temporal:60s",
      "",
    ])
      expect(() => parseOutage(text)).toThrow(/expected postgres:SECONDS or temporal:SECONDS/);
  });
});
