/** Experiments compared from a real record: which results count, and what is said of their pools. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { compareExperiments, unfinished } from "../../apps/control/index.ts";
import { renderComparison } from "../../apps/report/compare.ts";
import { recordEvaluation, setStatus } from "../../services/store/index.ts";
import { openTestRecord, type TestRecord } from "../support/open-record.ts";
import { policyRef, recordTestExperiment, testTask } from "../support/record.ts";

let record: TestRecord;
beforeAll(async () => {
  record = await openTestRecord();
  for (const name of ["one", "two"]) await recordTestExperiment(record.db, record.artifacts, name);
}, 60_000);
afterAll(() => record?.close());

/** `passes` of the tasks of each of both held-out sets, with two samples each. */
async function measure(
  experiment: string,
  iteration: number,
  passes: readonly number[],
  { policy = policyRef(iteration === 0 ? "start" : "end").id, first = 0, try: attempt = 1 } = {},
): Promise<void> {
  for (const set of ["functions", "unseen"])
    await recordEvaluation(record.db, {
      key: `${experiment}/${iteration}/${set}/sampled/${policy}/${attempt}`,
      experiment,
      iteration,
      policy,
      set_name: set,
      set_hash: `of ${experiment}`,
      mode: "sampled",
      tasks: passes.length,
      samples: 2,
      pass_at_1: 0,
      low: 0,
      high: 1,
      results: passes.map((count, index) => ({ taskId: testTask(first + index).id, passes: count, runs: 2 })),
    });
}

it("compares the policies that were chosen, on the tasks they share, with their pools", async () => {
  for (const name of ["one", "two"]) await measure(name, 0, [0, 1, 0]);
  await measure("one", 1, [1, 1, 1]);
  // A later try ended with the same policy and measured it again.
  await measure("two", 1, [0, 0, 2]);
  await measure("two", 1, [2, 2, 1], { try: 2 });
  // A checkpoint that was not chosen is none of it.
  await measure("two", 1, [0, 0, 0], { policy: "other" });
  const arms = [
    { name: "plain", experiments: ["one"] },
    { name: "better", experiments: ["two"] },
  ];
  const found = await compareExperiments(record, arms);
  expect(found.arms.map(({ curve }) => curve.map(({ mean }) => Number(mean.toFixed(4))))).toEqual([
    [0.1667, 0.5],
    [0.1667, 0.8333],
  ]);
  expect(found.arms[1]!.difference!.mean).toBeCloseTo(1 / 3, 9);
  expect(found.unequalBudgets).toBe(false);
  expect(found.arms[0]!.pools).toMatchObject([
    {
      experiment: "one",
      candidates: 4,
      valid: 3,
      probed: 3,
      learnableAtFirst: 1,
      learnableAtLast: 2,
      admitted: 2,
      // Probes that became groups are mixed by choice: they say nothing of the climb.
      groups: 1,
      zeroVariance: 1,
      rollouts: { probe: 16, hints: 0, climb: 4 },
      spent: [{ iteration: 1, rollouts: 20 }],
      types: { bug: 2 },
      churn: null,
      firstProbe: { runs: 4, counts: [1, 0, 1, 0, 1] },
      lastProbe: { runs: 4, counts: [0, 1, 1, 0, 1] },
    },
  ]);
  expect(found.arms[0]!.curve.map(({ rollouts }) => rollouts)).toEqual([0, 20]);
  expect(unfinished(found)).toEqual([]);
  await setStatus(record.db, "two", "failed");
  const later = await compareExperiments(record, arms);
  await setStatus(record.db, "two", "done");
  expect(unfinished(later)).toEqual(["two of better is failed: it is compared as far as it is"]);
  expect(renderComparison(later)).toContain("two of better is failed");
  const page = renderComparison(found);
  expect(page).toContain("+33.3");
  expect(page).toContain("plain, iteration 1: 50.0 %");
});

it("refuses experiments that were measured on other tasks, and unknown ones", async () => {
  await recordTestExperiment(record.db, record.artifacts, "elsewhere");
  for (const iteration of [0, 1]) await measure("elsewhere", iteration, [0, 1, 0], { first: 1 });
  const against = (name: string) =>
    compareExperiments(record, [
      { name: "one", experiments: ["one"] },
      { name, experiments: [name] },
    ]);
  await expect(against("elsewhere")).rejects.toMatchObject({ kind: "tasks-differ" });
  await expect(against("nowhere")).rejects.toMatchObject({ kind: "missing" });
});
