/** Choosing tasks at the frontier: weights, waiting, and that neither arrival nor a new run of the workflow changes a choice. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { frontierTasks, frontierWeight, type RunningRate, UNSEEN, withGroup } from "../../core/frontier.ts";
import { random } from "../../core/random.ts";
import { applyOverrides } from "../../core/schemas/index.ts";
import type { AdmittedTask } from "../../workflows/calibrateTask.ts";
import { TaskChoice } from "../../workflows/taskChoice.ts";
import { smallestSettings } from "../support/smallest.ts";

const seen = (passes: number, runs = 8): RunningRate => withGroup(UNSEEN, passes, runs);

describe("the weight of a task", () => {
  it("is greatest at half, never below the floor, and alike for passes and failures", () => {
    expect(frontierWeight(seen(4), 0)).toBe(1);
    expect(frontierWeight(UNSEEN, 0)).toBe(1);
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 8 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (passes, floor) => {
          const weight = frontierWeight(seen(passes), floor);
          expect(weight).toBeGreaterThanOrEqual(floor);
          expect(weight).toBeGreaterThan(0);
          expect(weight).toBeCloseTo(frontierWeight(seen(8 - passes), floor), 12);
        },
      ),
    );
  });

  it("follows the policy: the latest group counts as much as all before it", () => {
    const mastered = withGroup(withGroup(withGroup(seen(0), 8, 8), 8, 8), 8, 8);
    expect(frontierWeight(mastered, 0)).toBeLessThan(frontierWeight(withGroup(seen(0), 8, 8), 0));
    expect(withGroup(seen(4), 8, 8)).toEqual({ passes: 10, runs: 12, last: 0 });
  });
});

describe("the tasks of an update", () => {
  const settings = { floor: 0.1, patience: 3 };

  it("are distinct, as many as asked for or as there are", () => {
    const rates = fc.array(
      fc.record({ passes: fc.integer({ min: 0, max: 8 }), last: fc.integer({ min: 0, max: 20 }) }),
      { minLength: 1, maxLength: 40 },
    );
    const numbers = fc.tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 60 }), fc.integer());
    fc.assert(
      fc.property(rates, numbers, fc.constantFrom(0, 0.1, 1), (given, [size, update, seed], floor) => {
        const of = given.map(({ passes, last }) => ({ ...seen(passes), last }));
        const chosen = frontierTasks(of, size, update, { floor, patience: 2 }, seed, 1);
        expect(new Set(chosen).size).toBe(Math.min(size, of.length));
        expect(chosen).toHaveLength(Math.min(size, of.length));
        expect(chosen.every((index) => index >= 0 && index < of.length)).toBe(true);
      }),
    );
  });

  it("are those that can teach, yet each has its turn", () => {
    let rates: RunningRate[] = [
      ...Array(8).fill(seen(4)),
      ...Array(8).fill(seen(0)),
      ...Array(8).fill(seen(8)),
    ];
    const used = rates.map(() => 0);
    const gaps = rates.map(() => 0);
    const updates = 200;
    for (let update = 1; update <= updates; update++) {
      const chosen = frontierTasks(rates, 4, update, settings, 7, 1);
      rates = rates.map((rate, index) => {
        if (!chosen.includes(index)) return rate;
        used[index]!++;
        gaps[index] = Math.max(gaps[index]!, update - rate.last);
        return { ...rate, last: update };
      });
    }
    const sum = (from: number) => used.slice(from, from + 8).reduce((total, count) => total + count, 0);
    expect(sum(0)).toBeGreaterThan(sum(8) + sum(16));
    // Six updates deal the pool once; three such, and the few updates that clear those that wait together.
    expect(Math.max(...gaps)).toBeLessThanOrEqual(3 * 6 + 6);
    expect(used.every((count) => count > 0)).toBe(true);
  });
});

describe("patience", () => {
  it("ends with the first update after so many passes over the pool, not before and not later", () => {
    // Next to nothing is to be learned from the first; two updates deal the pool once.
    const rates = (last: number): RunningRate[] => [
      { passes: 0, runs: 1e12, last: 1 },
      { passes: 4, runs: 8, last },
    ];
    const chosen = (update: number) =>
      frontierTasks(rates(update - 1), 1, update, { floor: 0, patience: 2 }, 7, 1);
    expect([4, 5, 6, 7].map(chosen)).toEqual([[1], [1], [0], [0]]);
  });
});

describe("a climb's choice", () => {
  const settings = applyOverrides(smallestSettings, [
    "climb.tasksPerBatch=4",
    "climb.groupSize=4",
    "filter.probes=4",
    "climb.maxLag=1",
    "climb.sampling.kind=frontier",
  ]);
  const scope = { experiment: "e", iteration: 1, try: 1 };
  const pool = Array.from(
    { length: 12 },
    (_, i): AdmittedTask => ({
      taskId: `t${i}`,
      environment: "a",
      level: 2,
      probeGroup: null,
      passRate: (i % 5) / 4,
    }),
  );
  /** Chooses for 8 updates with lag 1; groups arrive in an order that `seed` decides, and the run is cut before `cutAt`. */
  function run(seed: number, cutAt: number | null): string[][] {
    let choice = new TaskChoice(pool, settings, scope, undefined);
    const chosen: string[][] = [];
    for (let update = 1; update <= 8; update++) {
      for (const ahead of [update, update + 1]) {
        const tasks = choice.tasksOf(ahead).map(({ taskId }) => taskId);
        if (chosen.length < ahead) chosen.push(tasks);
        expect(tasks).toEqual(chosen[ahead - 1]);
      }
      const arrivals = random(seed, update).shuffle([
        ...chosen[update - 1]!.map((task, n) => [update, n, task] as const),
        ...(seed % 2 ? chosen[update]!.map((task, n) => [update + 1, n, task] as const) : []),
      ]);
      for (const [of, n, task] of arrivals) choice.note(of, n, random(9, of, task).integer(5));
      if (update === cutAt)
        choice = new TaskChoice(pool, settings, scope, JSON.parse(JSON.stringify(choice.carried)));
      choice.close(update);
    }
    return chosen;
  }

  it("is the same whatever arrives when, and across runs of the workflow", () => {
    const expected = run(0, null);
    for (let seed = 1; seed < 6; seed++)
      for (const cutAt of [null, 1, 3, 7]) expect(run(seed, cutAt)).toEqual(expected);
    expect(new Set(expected.map((tasks) => tasks.join())).size).toBeGreaterThan(4);
  });

  it("rests on what the groups of an update came to, once it is closed", () => {
    const choice = new TaskChoice(pool, settings, scope, undefined);
    const [first] = choice.tasksOf(1);
    const index = pool.indexOf(first!);
    const rate = () => choice.carried!.rates[index]!;
    const before = rate();
    choice.note(1, 0, 3);
    expect(rate()).toEqual(before);
    choice.close(1);
    expect(rate()).toEqual(withGroup(before, 3, 4));
    // One without a result, as of a probe that became a group, stays as it was.
    expect(choice.carried!.rates.filter(({ runs }) => runs !== before.runs)).toHaveLength(1);
    expect(choice.carried!.open).toEqual({});
  });

  it("carries nothing where tasks are dealt evenly", () => {
    const even = applyOverrides(settings, ["climb.sampling.kind=uniform"]);
    const choice = new TaskChoice(pool, even, scope, undefined);
    expect(new Set([1, 2, 3].flatMap((update) => choice.tasksOf(update))).size).toBe(12);
    expect(choice.carried).toBeUndefined();
  });
});
