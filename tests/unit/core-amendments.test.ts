/** Amendments against overrides of the file, and against the rules that the schema of an experiment file has. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AmendedSettings, amendmentOf, amendmentRefusal } from "../../core/amendments.ts";
import type { ExperimentSettings, IterationOverride } from "../../core/experiment.ts";
import { experimentSchema } from "../../core/schemas/experiment.ts";
import {
  AMENDABLE,
  type Amendment,
  amendmentProblem,
  pinnedSettings,
  settingAt,
} from "../../core/steering.ts";
import { testSettings } from "../support/record.ts";

const LAST = 8;
const iterations = Array.from({ length: LAST }, (_, index) => index + 1);

const plain = testSettings();
const base: ExperimentSettings = {
  ...plain,
  iterations: 4,
  synthesis: { ...plain.synthesis, poolTasks: 2, maxCandidates: 6 },
  filter: { ...plain.filter, probes: 4, band: { low: 0.01, high: 0.99 } },
};
const withOverrides = (...overrides: readonly IterationOverride[]): ExperimentSettings => ({
  ...base,
  overrides,
});
const at = (iteration: number, pinned = iteration) => ({ iteration, pinned });
const request = (path: string, value: number | boolean) => ({ request: `${path}=${value}`, path, value });

/** Requests one after the other, each in an iteration; those that are refused leave all as it was. */
function askAll(
  settings: ExperimentSettings,
  asked: readonly { readonly path: string; readonly value: number | boolean; readonly during: number }[],
  each: (before: AmendedSettings, made: Amendment, refusal: string | null) => void = () => {},
): readonly Amendment[] {
  let amendments: readonly Amendment[] = [];
  for (const { path, value, during } of [...asked].sort((a, b) => a.during - b.during)) {
    const before = { settings, amendments };
    const made = amendmentOf(before, request(path, value), at(during));
    const refusal = amendmentRefusal(before, request(path, value), at(during));
    each(before, made, refusal);
    if (refusal === null) amendments = [...amendments, made];
  }
  return amendments;
}

const isValid = (settings: ExperimentSettings): boolean => experimentSchema.safeParse(settings).success;

const rate = fc.integer({ min: 0, max: 20 }).map((twentieths) => twentieths / 20);
const override = fc
  .record({ fromIteration: fc.integer({ min: 1, max: LAST }), low: rate, high: rate, turns: fc.boolean() })
  .map(
    ({ fromIteration, low, high, turns }): IterationOverride =>
      turns
        ? { fromIteration, limits: { maxTurns: 7 } }
        : { fromIteration, filter: { band: { low: Math.min(low, high), high: Math.max(low, high) } } },
  );
const validFile = fc
  .array(override, { maxLength: 3 })
  .map((all) => withOverrides(...all))
  .filter(isValid);
const during = fc.integer({ min: 0, max: LAST - 1 });
const asked = fc.array(
  fc.oneof(
    fc.record({ path: fc.constantFrom("filter.band.low", "filter.band.high"), value: rate, during }),
    fc.record({
      path: fc.constantFrom("synthesis.poolTasks", "synthesis.maxCandidates", "iterations"),
      value: fc.integer({ min: 1, max: 9 }),
      during,
    }),
  ),
  { maxLength: 6 },
);

describe("a request to amend", () => {
  it.each([
    [
      "filter.band.low",
      1,
      "filter.band.low: expected at most filter.band.high (0.99), found 1 in iteration 2",
    ],
    [
      "filter.band.high",
      0.1,
      'filter.band: expected a band that holds at least one of 1..3 passes of 4 (filter.probes), found {"low":0.01,"high":0.1} in iteration 2',
    ],
    [
      "synthesis.maxCandidates",
      1,
      "synthesis.maxCandidates: expected at least synthesis.poolTasks (2), found 1 in iteration 2",
    ],
    [
      "synthesis.poolTasks",
      7,
      "synthesis.maxCandidates: expected at least synthesis.poolTasks (7), found 6 in iteration 2",
    ],
    ["optimizer.learningRate", 0, "optimizer.learningRate: expected a number above 0"],
    ["climb.updates", -1, "climb.updates: expected a whole number of at least 0"],
  ])("%s = %s is refused", (path, value, expected) => {
    expect(amendmentRefusal({ settings: base, amendments: [] }, request(path, value), at(1))).toBe(expected);
  });

  it("is refused for an iteration that comes later, and named is which", () => {
    const settings = withOverrides(
      { fromIteration: 2, filter: { band: { low: 0.2, high: 0.9 } } },
      { fromIteration: 5, filter: { band: { low: 0.2, high: 0.5 } } },
    );
    expect(amendmentRefusal({ settings, amendments: [] }, request("filter.band.low", 0.6), at(1))).toBe(
      "filter.band.low: expected at most filter.band.high (0.5), found 0.6 in iteration 5",
    );
    expect(
      amendmentRefusal({ settings, amendments: [] }, request("filter.band.low", 0.45), at(1)),
    ).toBeNull();
  });

  it("goes by what was amended before", () => {
    const first = amendmentOf(
      { settings: base, amendments: [] },
      request("synthesis.maxCandidates", 9),
      at(1),
    );
    const amended = { settings: base, amendments: [first] };
    expect(amendmentRefusal(amended, request("synthesis.poolTasks", 9), at(1))).toBeNull();
    expect(amendmentRefusal(amended, request("synthesis.poolTasks", 10), at(1))).toMatch(/poolTasks \(10\)/);
  });

  it("is refused just where the schema refuses the settings of an iteration that it holds in", () => {
    const outcomes = new Set<boolean>();
    fc.assert(
      fc.property(validFile, asked, (settings, all) => {
        askAll(settings, all, ({ amendments }, made, refusal) => {
          const valid = iterations
            .filter((iteration) => iteration >= made.fromIteration)
            .every((iteration) => isValid(pinnedSettings(settings, [...amendments, made], iteration)));
          expect(refusal === null).toBe(valid);
          outcomes.add(valid);
        });
      }),
    );
    expect(outcomes).toEqual(new Set([true, false]));
  });

  it("may have just the values that the schema takes", () => {
    const values = [-1, 0, 1e-9, 0.5, 1, 1.5, 2, 7, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, true, "1"];
    const parts = experimentSchema.shape;
    for (const path of Object.keys(AMENDABLE)) {
      for (const value of values) {
        const [first, ...rest] = path.split(".");
        const field = rest.reduceRight<unknown>((inner, part) => ({ [part]: inner }), value);
        // A part of the settings by itself: what its fields mean to each other is no affair of this test.
        const sibling = rest[0] === "band" ? { band: { low: 0, high: 0, [rest[1]!]: value } } : field;
        const { success } = parts[first as keyof typeof parts].safeParse(
          first === "evaluation" ? { ...base.evaluation, ...(sibling as object) } : sibling,
        );
        expect(`${path}=${value} ${amendmentProblem(path, value) === null}`).toBe(
          `${path}=${value} ${success}`,
        );
      }
    }
  });
});

describe("an amendment and the overrides of the file", () => {
  const PATHS = ["filter.band.low", "filter.band.high", "synthesis.poolTasks", "iterations"];

  /** By the words of docs/steering.md: the last amendment that holds, else the last override that holds, else the file. */
  function told(settings: ExperimentSettings, amendments: readonly Amendment[], path: string, at: number) {
    const holds = ({ fromIteration }: { readonly fromIteration: number }) => fromIteration <= at;
    const amendment = amendments.filter((one) => one.path === path && holds(one)).at(-1);
    const overridden = settings.overrides
      .filter(holds)
      .map((one) => settingAt(one, path))
      .filter((value) => value !== undefined);
    return amendment?.value ?? overridden.at(-1) ?? settingAt(settings, path);
  }

  it("from its iteration on it wins, and nothing else changes", () => {
    fc.assert(
      fc.property(validFile, asked, (settings, all) => {
        const amendments = askAll(settings, all);
        for (const iteration of iterations) {
          const inForce = pinnedSettings(settings, amendments, iteration);
          for (const path of PATHS)
            expect(settingAt(inForce, path)).toBe(told(settings, amendments, path, iteration));
          expect(inForce.rollout).toEqual(pinnedSettings(settings, [], iteration).rollout);
          expect(inForce.overrides).toEqual([]);
        }
      }),
    );
  });

  it("its old value is what is in force without it, where it begins to hold", () => {
    fc.assert(
      fc.property(validFile, asked, (settings, all) => {
        askAll(settings, all, ({ amendments }, { path, old, fromIteration }) =>
          expect(old).toBe(told(settings, amendments, path, fromIteration)),
        );
      }),
    );
    const settings = withOverrides({ fromIteration: 1, filter: { band: { low: 0.2, high: 0.9 } } });
    expect(amendmentOf({ settings, amendments: [] }, request("filter.band.low", 0.05), at(1))).toMatchObject({
      old: 0.2,
      fromIteration: 2,
    });
  });

  it("of what no iteration has pinned it holds at once", () => {
    const made = (path: string) => amendmentOf({ settings: base, amendments: [] }, request(path, 3), at(2));
    expect(made("iterations").fromIteration).toBe(2);
    expect(made("limits.infrastructureRetries").fromIteration).toBe(2);
    expect(made("climb.updates").fromIteration).toBe(3);
  });

  it("holds from the first iteration on that is not pinned, also where that is not the next", () => {
    const made = (path: string) =>
      amendmentOf({ settings: base, amendments: [] }, request(path, 3), at(0, 2)).fromIteration;
    expect(made("climb.updates")).toBe(3);
    expect(made("iterations")).toBe(0);
  });
});
