import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mayReuse, REPLAY_PHASES } from "../../core/reuse.ts";
import {
  AMENDABLE,
  type Amendment,
  amended,
  amendmentProblem,
  pinnedSettings,
  settingAt,
  withSetting,
} from "../../core/steering.ts";
import { testSettings } from "../support/record.ts";

const settings = testSettings();
const amendment = (path: string, value: number | boolean, fromIteration: number): Amendment => ({
  request: `${path}=${value}`,
  path,
  value,
  old: settingAt(settings, path) as number | boolean,
  fromIteration,
});

describe("amendable settings", () => {
  it.each(Object.entries(AMENDABLE))("%s is a setting of that type", (path, { type }) => {
    const budget = { usd: 0.5, authorTokens: 1, sandboxHours: 0.5 };
    const value = settingAt({ ...settings, budget }, path);
    expect(typeof value).toBe(type === "boolean" ? "boolean" : "number");
    expect(amendmentProblem(path, value)).toBeNull();
  });

  it.each([
    ["seed", 2],
    ["policy.kind", "nano"],
    ["climb", 3],
    ["constructor", 1],
    ["__proto__.polluted", 1],
    ["", 1],
  ])("%s is fixed", (path, value) => {
    expect(amendmentProblem(path, value)).toMatch(/fixed while an experiment runs; amendable are iterations/);
  });

  it.each([
    ["climb.updates", -1, "climb.updates: expected a whole number of at least 0"],
    ["climb.updates", 1.5, "climb.updates: expected a whole number of at least 0"],
    ["climb.updates", "4", "climb.updates: expected a whole number of at least 0"],
    ["climb.updates", Number.NaN, "climb.updates: expected a whole number of at least 0"],
    ["filter.band.low", 1.01, "filter.band.low: expected a number from 0 to 1"],
    ["optimizer.learningRate", Number.POSITIVE_INFINITY, "optimizer.learningRate: expected a number above 0"],
    ["evaluation.greedy", 1, "evaluation.greedy: expected true or false"],
  ])("%s = %s is refused", (path, value, expected) => {
    expect(amendmentProblem(path, value)).toBe(expected);
  });
});

describe("amended settings", () => {
  it("hold from their iteration on, the last one of a path wins, and nothing else changes", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            path: fc.constantFrom("climb.updates", "concurrency.groups", "iterations"),
            value: fc.integer({ min: 1, max: 50 }),
            from: fc.integer({ min: 1, max: 6 }),
          }),
        ),
        fc.integer({ min: 1, max: 6 }),
        (changes, iteration) => {
          const result = amended(
            settings,
            changes.map(({ path, value, from }) => amendment(path, value, from)),
            iteration,
          );
          for (const path of ["climb.updates", "concurrency.groups", "iterations"]) {
            const last = changes.filter((change) => change.path === path && change.from <= iteration).at(-1);
            expect(settingAt(result, path)).toBe(last?.value ?? settingAt(settings, path));
          }
          expect({ ...result, climb: null, concurrency: null, iterations: 0 }).toEqual({
            ...settings,
            climb: null,
            concurrency: null,
            iterations: 0,
          });
        },
      ),
    );
  });

  it("hold against the overrides of the file, also against a later one", () => {
    const overrides = [
      { fromIteration: 2, filter: { band: { low: 0.3, high: 0.6 } } },
      { fromIteration: 4, limits: { maxTurns: 7 } },
    ];
    const of = (iteration: number) =>
      pinnedSettings({ ...settings, overrides }, [amendment("filter.band.low", 0.1, 2)], iteration);
    expect(of(1).filter.band).toEqual(settings.filter.band);
    expect(of(2).filter.band).toEqual({ low: 0.1, high: 0.6 });
    expect(of(4)).toMatchObject({ filter: { band: { low: 0.1 } }, rollout: { limits: { maxTurns: 7 } } });
    expect(of(4).overrides).toEqual([]);
  });

  it("leaves the given settings as they were", () => {
    const before = structuredClone(settings);
    withSetting(settings, "filter.band.low", 0.4);
    expect(settings).toEqual(before);
  });
});

describe("what a new try may take over", () => {
  it("is what stands before the phase it begins from", () => {
    for (const [at, phase] of REPLAY_PHASES.entries()) {
      expect(mayReuse(null, phase)).toBe(false);
      expect(mayReuse(undefined, phase)).toBe(false);
      expect(mayReuse({ from: null }, phase)).toBe(true);
      for (const [start, from] of REPLAY_PHASES.entries()) expect(mayReuse({ from }, phase)).toBe(at < start);
    }
  });
});
