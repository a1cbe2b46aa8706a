/** Groups that grow: their sizes, the members that are trained on, and what an iteration may spend on rollouts. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { settingsAt } from "../../core/experiment.ts";
import {
  candidateRollouts,
  type GroupPlan,
  groupPlan,
  leastRollouts,
  nextSize,
  poolMayGoOn,
  trainedMembers,
} from "../../core/groups.ts";
import { applyOverrides, parseExperimentFile } from "../../core/schemas/index.ts";
import { smallestSettings } from "../support/smallest.ts";

const changed = (...overrides: string[]) => applyOverrides(smallestSettings, overrides);

/** The size that a group ends with, its members' results being these from the first on. */
function finalSize(plan: GroupPlan, results: readonly (0 | 1)[]): number {
  for (let size = 0; ; ) {
    const passes = results.slice(0, size).filter((raw) => raw === 1).length;
    const next = nextSize(plan, passes, size);
    if (next === size) return size;
    size = next;
  }
}

const plans = fc
  .record({
    kind: fc.constantFrom("fixed" as const, "dynamic" as const, "balanced" as const),
    size: fc.integer({ min: 2, max: 9 }),
    room: fc.integer({ min: 0, max: 30 }),
  })
  .map(({ kind, size, room }): GroupPlan => ({ kind, size, maxSize: kind === "fixed" ? size : size + room }));
const bit = fc.integer({ min: 0, max: 1 }).map((raw) => raw as 0 | 1);
const results = fc.array(bit, { minLength: 40, maxLength: 40 });
const count = (raw: readonly (0 | 1)[], value: 0 | 1) => raw.filter((one) => one === value).length;

describe("the size of a group", () => {
  it("is fixed where nothing else is said, also by settings of before", () => {
    expect(groupPlan(smallestSettings)).toEqual({ kind: "fixed", size: 4, maxSize: 4 });
    const { groups: _, ...climb } = smallestSettings.climb;
    expect(groupPlan({ climb } as typeof smallestSettings)).toEqual({ kind: "fixed", size: 4, maxSize: 4 });
    expect(nextSize({ kind: "fixed", size: 4, maxSize: 32 }, 0, 4)).toBe(4);
  });

  it("dynamic: grows by its size until it is mixed", () => {
    const plan = groupPlan(changed("climb.groups={kind: dynamic, maxSize: 14}"));
    expect(nextSize(plan, 1, 4)).toBe(4);
    expect(nextSize(plan, 0, 4)).toBe(8);
    expect(nextSize(plan, 8, 8)).toBe(12);
    expect(nextSize(plan, 0, 12)).toBe(14);
    expect(nextSize(plan, 0, 14)).toBe(14);
  });

  it("balanced: grows until half of its size are there of either outcome", () => {
    const plan: GroupPlan = { kind: "balanced", size: 8, maxSize: 32 };
    expect(nextSize(plan, 3, 8)).toBe(16);
    expect(nextSize(plan, 4, 8)).toBe(8);
    expect(nextSize(plan, 13, 16)).toBe(24);
  });

  it("stays within its bounds, stops at the first size that is enough, and is decided by the members in their order", () => {
    fc.assert(
      fc.property(plans, results, (plan, raw) => {
        const size = finalSize(plan, raw);
        expect(size).toBeGreaterThanOrEqual(plan.size);
        expect(size).toBeLessThanOrEqual(plan.maxSize);
        const wanted = plan.kind === "balanced" ? Math.floor(plan.size / 2) : 1;
        const enough = (n: number) =>
          Math.min(count(raw.slice(0, n), 0), count(raw.slice(0, n), 1)) >= wanted;
        if (plan.kind === "fixed") expect(size).toBe(plan.size);
        else {
          if (size < plan.maxSize) expect(enough(size)).toBe(true);
          for (let before = plan.size; before < size; before += plan.size) expect(enough(before)).toBe(false);
        }
        // What comes after its members changes nothing.
        expect(finalSize(plan, [...raw.slice(0, size), ...raw.slice(size).map(() => 1 as const)])).toBe(size);
      }),
    );
  });
});

describe("the members that are trained on", () => {
  it("are all, but of a balanced group its size with both outcomes as even as they are", () => {
    fc.assert(
      fc.property(plans, results, (plan, all) => {
        const raw = all.slice(0, finalSize(plan, all));
        const kept = trainedMembers(plan, raw);
        expect(kept).toEqual([...new Set(kept)].sort((a, b) => a - b));
        expect(kept).toHaveLength(plan.kind === "balanced" ? plan.size : raw.length);
        if (plan.kind !== "balanced") return;
        const half = Math.floor(plan.size / 2);
        const outcomes = kept.map((member) => raw[member]!);
        for (const value of [0, 1] as const) {
          expect(count(outcomes, value)).toBeGreaterThanOrEqual(Math.min(half, count(raw, value)));
          // Of equal outcomes the first.
          const members = raw.flatMap((one, member) => (one === value ? [member] : []));
          expect(kept.filter((member) => raw[member] === value)).toEqual(
            members.slice(0, count(outcomes, value)),
          );
        }
      }),
    );
  });

  it("are those of this group", () => {
    expect(trainedMembers({ kind: "balanced", size: 4 }, [0, 0, 0, 1, 0, 0, 1, 1])).toEqual([0, 1, 3, 6]);
    expect(trainedMembers({ kind: "balanced", size: 4 }, [0, 0, 0, 0, 0, 0, 0, 1])).toEqual([0, 1, 2, 7]);
    expect(trainedMembers({ kind: "balanced", size: 4 }, [1, 1, 1, 1, 1])).toEqual([0, 1, 2, 3]);
    expect(trainedMembers({ kind: "dynamic", size: 4 }, [0, 0, 0, 0, 0, 1])).toEqual([0, 1, 2, 3, 4, 5]);
  });
});

describe("the arms of experiments/ablations", () => {
  const arm = (name: string) =>
    parseExperimentFile(
      readFileSync(new URL(`../../experiments/ablations/${name}.yaml`, import.meta.url), "utf8"),
      `${name}.yaml`,
    );

  it.each(["uncalibrated", "frozen-pool"])(
    "%s differs from calibrated in nothing but what it leaves out",
    (name) => {
      const { ablation, ...rest } = arm(name);
      expect(ablation).toBe(name);
      expect({ ...rest, ablation: "calibrated" }).toEqual(arm("calibrated"));
      const { filter, synthesis } = settingsAt(arm(name), 2);
      expect([filter.enabled, synthesis.pool]).toEqual(
        name === "uncalibrated" ? [false, "fresh"] : [true, "frozen"],
      );
      expect(rest.climb.rolloutBudget).not.toBeNull();
    },
  );

  it("refuses what contradicts its name, and takes what spells it out", () => {
    expect(() => changed("ablation=frozen-pool", "filter.enabled=false")).toThrow(
      "filter.enabled: expected true where ablation is frozen-pool (ablation: uncalibrated is without a filter)",
    );
    expect(() => changed("synthesis.pool=frozen")).toThrow(
      "synthesis.pool: expected fresh where ablation is calibrated (ablation: frozen-pool is with such a pool)",
    );
    expect(changed("ablation=frozen-pool", "synthesis.pool=frozen").synthesis.pool).toBe("frozen");
  });
});

describe("a budget of rollouts", () => {
  const budget = (rollouts: number, ...overrides: string[]) =>
    changed(`climb.rolloutBudget=${rollouts}`, ...overrides);

  it("holds one candidate's probes and one update", () => {
    // 4 probes, 1 refinement; 2 groups of 4.
    expect(candidateRollouts(smallestSettings)).toBe(8);
    expect(leastRollouts(smallestSettings)).toBe(16);
    expect(() => budget(15)).toThrow(/climb\.rolloutBudget: expected at least 16/);
    expect(budget(16).climb.rolloutBudget).toBe(16);
    expect(() => budget(16, "climb.groups={kind: balanced, maxSize: 8}")).toThrow(/at least 24/);
    expect(candidateRollouts(changed("ablation=uncalibrated", "filter.enabled=false"))).toBe(0);
    // Levels 2 and 3 are hints.
    const hinting = ["filter.hintLadder=true", "synthesis.startLevel=1", "synthesis.maxLevel=1"];
    expect(candidateRollouts(changed(...hinting))).toBe(16);
    expect(() => budget(23, ...hinting)).toThrow(/at least 24/);
    expect(poolMayGoOn(budget(40, ...hinting), 16)).toBe(true);
    expect(poolMayGoOn(budget(40, ...hinting), 17)).toBe(false);
  });

  it("ends a pool while an update still fits", () => {
    expect(poolMayGoOn(budget(40), 24)).toBe(true);
    expect(poolMayGoOn(budget(40), 25)).toBe(false);
    expect(poolMayGoOn(smallestSettings, 1e6)).toBe(true);
  });
});
