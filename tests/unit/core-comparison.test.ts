/** Arms compared: pairing by task, several seeds as one arm, and what cannot be compared. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ComparedArm,
  ComparisonError,
  compareArms,
  type MeasuredPolicy,
} from "../../core/comparison.ts";

const measured = (iteration: number, passes: readonly number[], runs = 4): MeasuredPolicy => ({
  iteration,
  results: new Map(passes.map((count, task) => [`set/t${task}`, { passes: count, runs }])),
});
const arm = (name: string, ...runs: MeasuredPolicy[][]): ComparedArm => ({
  name,
  runs: runs.map((of, index) => ({ experiment: `${name}-${index + 1}`, measured: of })),
});

describe("arms", () => {
  it("have a curve over the iterations that all their experiments have, a gain, and a difference to the first", () => {
    const a = arm(
      "a",
      [measured(0, [0, 2]), measured(1, [2, 2])],
      [measured(0, [2, 2]), measured(1, [4, 2])],
    );
    const b = arm("b", [measured(0, [1, 2]), measured(1, [2, 4]), measured(2, [4, 4])]);
    const [first, second] = compareArms([a, b]);
    expect(first).toMatchObject({ name: "a", experiments: ["a-1", "a-2"], tasks: 2, difference: null });
    expect(first!.curve.map(({ iteration, mean }) => [iteration, mean])).toEqual([
      [0, 0.375],
      [1, 0.625],
    ]);
    expect(first!.gain!.mean).toBeCloseTo(0.25, 12);
    expect(second!.curve.map(({ iteration }) => iteration)).toEqual([0, 1, 2]);
    expect(second!.difference!.mean).toBeCloseTo(0.375, 12);
    const uneven = arm("a", [measured(0, [0, 0]), measured(1, [1, 1])], [measured(0, [0, 0])]);
    expect(compareArms([uneven])[0]).toMatchObject({ gain: null, curve: [{ iteration: 0 }] });
  });

  it("that are the same differ by nothing, with no width", () => {
    const counts = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(counts, counts, (before, after) => {
        const tasks = Math.min(before.length, after.length);
        const run = [measured(0, before.slice(0, tasks)), measured(1, after.slice(0, tasks))];
        const [first, second] = compareArms([arm("a", run), arm("b", run)]);
        expect(second!.difference).toEqual({ mean: 0, low: 0, high: 0 });
        expect(second!.curve).toEqual(first!.curve);
        expect(second!.gain).toEqual(first!.gain);
      }),
      { numRuns: 20 },
    );
  });

  it("are paired by task: a shift of every task alike has no width, whatever the tasks' own rates", () => {
    const [, shifted] = compareArms([
      arm("a", [measured(0, [0, 1, 2, 3])]),
      arm("b", [measured(0, [1, 2, 3, 4])]),
    ]);
    expect(shifted!.difference).toEqual({ mean: 0.25, low: 0.25, high: 0.25 });
  });

  it("do not depend on the order in which tasks were recorded", () => {
    const forwards = arm("a", [measured(0, [0, 1, 4])]);
    const backwards: ComparedArm = {
      ...forwards,
      runs: forwards.runs.map((run) => ({
        ...run,
        measured: run.measured.map((one) => ({ ...one, results: new Map([...one.results].reverse()) })),
      })),
    };
    expect(compareArms([backwards])).toEqual(compareArms([forwards]));
  });
});

describe("what cannot be compared", () => {
  const failure = (arms: ComparedArm[]) => {
    try {
      compareArms(arms);
    } catch (error) {
      return error;
    }
    return null;
  };

  it("is an experiment without measurements, and one measured on other tasks, by name", () => {
    const a = arm("a", [measured(0, [1, 2])]);
    expect(failure([a, arm("b", [])])).toMatchObject({
      kind: "unmeasured",
      message: expect.stringContaining("b-1"),
    });
    const other = failure([a, arm("b", [measured(0, [1, 2, 3])])]);
    expect(other).toBeInstanceOf(ComparisonError);
    expect(other).toMatchObject({
      kind: "tasks-differ",
      message:
        "b-1 was measured on other held-out tasks than a-1 (3 at iteration 0, 2 of them among its 2): expected equal evaluation.sets, evaluation.seed and environments",
    });
  });

  it("is an arm whose experiments have no iteration in common", () => {
    expect(failure([arm("a", [measured(0, [1])], [measured(1, [1])])])).toMatchObject({
      kind: "unmeasured",
      message: "the experiments of a have no measured iteration in common",
    });
  });
});
