import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tasksOfUpdate } from "../../core/deck.ts";

const pool = (size: number) => Array.from({ length: size }, (_, index) => `t${index}`);

describe("the tasks of an update", () => {
  it("are distinct, as many as asked for or as there are, and the same every time", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 30 }),
        fc.integer(),
        (size, per, update, seed) => {
          const tasks = pool(size);
          const chosen = tasksOfUpdate(tasks, per, update, seed, 1);
          expect(new Set(chosen).size).toBe(chosen.length);
          expect(chosen.length).toBe(Math.min(per, size));
          expect(tasksOfUpdate(tasks, per, update, seed, 1)).toEqual(chosen);
        },
      ),
    );
  });

  it("use every task before any is used again", () => {
    const seen = [1, 2, 3].flatMap((update) => tasksOfUpdate(pool(24), 8, update, 7, 1));
    expect(new Set(seen).size).toBe(24);
  });

  it("differ between seeds and between iterations", () => {
    const of = (seed: number, iteration: number) => tasksOfUpdate(pool(24), 8, 1, seed, iteration).join();
    expect(new Set([of(1, 1), of(2, 1), of(1, 2)]).size).toBe(3);
  });
});
