/** Conditions and durations of schedules: what is written is what is read. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Condition, conditionHolds, formatCondition, parseCondition } from "../../core/condition.ts";
import { formatDuration, parseDuration } from "../../core/duration.ts";

const conditions: fc.Arbitrary<Condition> = fc.record({
  metric: fc.constant("pass@1" as const),
  set: fc.stringMatching(/^[A-Za-z0-9._-]{1,20}$/),
  operator: fc.constantFrom(">" as const, ">=" as const, "<" as const, "<=" as const),
  threshold: fc.integer({ min: 0, max: 10_000 }).map((share) => share / 10_000),
});
const rates = fc.double({ min: 0, max: 1, noNaN: true });

describe("a condition", () => {
  it("is read as it was written, with any spaces", () => {
    fc.assert(
      fc.property(conditions, fc.constantFrom("", " ", "  "), (condition, space) => {
        const { set, operator, threshold } = condition;
        expect(parseCondition(formatCondition(condition))).toEqual(condition);
        const spaced = `${space}pass@1${space}(${space}${set}${space})${space}${operator}${space}${threshold}${space}`;
        expect(parseCondition(spaced)).toEqual(condition);
      }),
    );
  });

  it("holds or its opposite does, never both", () => {
    const opposite = { ">": "<=", ">=": "<", "<": ">=", "<=": ">" } as const;
    fc.assert(
      fc.property(conditions, rates, (condition, rate) => {
        const other = { ...condition, operator: opposite[condition.operator] };
        expect(conditionHolds(condition, rate)).toBe(!conditionHolds(other, rate));
      }),
    );
  });

  it.each([
    ["pass@1(heldout) >= 0.7", 0.7, true],
    ["pass@1(heldout) > 0.7", 0.7, false],
    ["pass@1(heldout) <= 0.7", 0.7, true],
    ["pass@1(heldout) < 0.7", 0.69, true],
  ])("%s at %d is %j", (text, rate, holds) => {
    expect(conditionHolds(parseCondition(text)!, rate)).toBe(holds);
  });

  it.each([
    "",
    "pass@1 >= 0.7",
    "pass@1() >= 0.7",
    "pass@2(a) >= 0.7",
    "pass@1(a) == 0.7",
    "pass@1(a) >= 70",
    "pass@1(a) >= -1",
    "pass@1(a) >= 1e-1",
    "pass@1(a b) > 0",
    "pass@1(a) > 0; x",
  ])("%j is none", (text) => {
    expect(parseCondition(text)).toBeNull();
  });
});

describe("a duration", () => {
  it("is read as it was written", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 400 * 86_400 }), (seconds) => {
        expect(parseDuration(formatDuration(seconds * 1000))).toBe(seconds * 1000);
      }),
    );
  });

  it.each([
    ["90s", 90_000],
    ["1h30m", 5_400_000],
    ["7d", 604_800_000],
    ["0s", 0],
  ])("%s is %d ms", (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  it.each(["", "6", "h", "1.5h", "-1h", "30m1h", "6 h", "1w", "9999999999999999d"])("%j is none", (text) => {
    expect(parseDuration(text)).toBeNull();
  });
});
