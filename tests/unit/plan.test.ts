/** The arithmetic of an experiment: the paper's own numbers, and what follows from speeds. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { planLines } from "../../apps/cli/commands/plan.ts";
import { planExperiment } from "../../core/plan.ts";
import { parseExperimentFile } from "../../core/schemas/index.ts";

const settings = (name: string) =>
  parseExperimentFile(
    readFileSync(new URL(`../../experiments/${name}.yaml`, import.meta.url), "utf8"),
    `${name}.yaml`,
  );
const paper = settings("frognano");
const SPEEDS = {
  tokensPerSecond: 20_000,
  stepSeconds: 120,
  tokensPerTrajectory: 20_000,
  generatedShare: 0.25,
  parameters: 4e9,
};

describe("the paper's recipe", () => {
  const { total, iterations, checkpointBytes, startEvaluations } = planExperiment(paper, SPEEDS);

  it("is 5 × 200 × 32 × 8 = 256,000 trajectories", () => {
    expect(total.trajectories).toBe(256_000);
    expect(total.updates).toBe(1000);
    expect(iterations.map(({ trajectories }) => trajectories)).toEqual(Array(5).fill(51_200));
  });

  it("probes each of 300 tasks at least once, validates every 20 updates, evaluates six times", () => {
    expect(total.probes.least).toBe(5 * 300 * paper.filter.probes);
    expect(total.probes.most).toBeGreaterThan(total.probes.least);
    expect(total.validations).toBe(5 * 10 * 100);
    expect(startEvaluations).toBe(400);
    expect(total.evaluations).toBe(6 * 400);
  });

  it("has tokens and bytes by the length of a trajectory", () => {
    const rollouts = total.trajectories + total.probes.least + total.validations + total.evaluations;
    expect(total.tokens).toBe(rollouts * 20_000);
    expect(total.generatedTokens).toBe(rollouts * 5_000);
    expect(total.bytes.batches).toBe(256_000 * 20_000 * 13);
    // 4 billion parameters: bfloat16 weights and two float32 moments.
    expect(checkpointBytes).toBe(40e9);
    expect(total.bytes.checkpoints).toBe(1000 * 40e9);
  });
});

describe("time", () => {
  const seconds = (kind: "exact" | "async", stepSeconds: number) => {
    const climb = { ...paper.climb, pace: { ...paper.climb.pace, kind } };
    return planExperiment({ ...paper, climb }, { ...SPEEDS, stepSeconds }).iterations[0]!.seconds;
  };

  it("is the sum where each update waits for its batch, and the longer of both where they run side by side", () => {
    const climbing = (51_200 * 5_000) / 20_000;
    const exact = seconds("exact", 120);
    expect(exact.all).toBeCloseTo(exact.rollouts + 200 * 120);
    const quick = seconds("async", 1);
    expect(quick.all).toBeCloseTo(quick.rollouts);
    const slow = seconds("async", 1000);
    expect(slow.all).toBeCloseTo(slow.rollouts - climbing + 200 * 1000);
  });

  it("knows that a trajectory is no longer than its limit, which grows in the fifth iteration", () => {
    const { iterations } = planExperiment(paper, { ...SPEEDS, tokensPerTrajectory: 100_000 });
    const perRollout = iterations.map(({ tokens, trajectories, probes, validations, evaluations }) =>
      Math.round(tokens / (trajectories + probes.least + validations + evaluations)),
    );
    expect(perRollout).toEqual([65_536, 65_536, 65_536, 65_536, 100_000]);
  });
});

it("a frozen pool is probed once, and without a filter nothing is", () => {
  const least = (ablation: "frozen-pool" | "uncalibrated") =>
    planExperiment({ ...paper, ablation }, SPEEDS).iterations.map(({ probes }) => probes.least > 0);
  expect(least("frozen-pool")).toEqual([true, false, false, false, false]);
  expect(least("uncalibrated")).toEqual(Array(5).fill(false));
});

it("a speed that is none is named", () => {
  for (const wrong of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
    expect(() => planExperiment(paper, { ...SPEEDS, stepSeconds: wrong })).toThrow(/^stepSeconds is /);
  expect(() => planExperiment(paper, { ...SPEEDS, generatedShare: 1.5 })).toThrow(/^generatedShare is 1.5/);
});

it("is told in lines, and the embedded policy has no checkpoints to speak of", () => {
  const text = planLines(planExperiment(paper, SPEEDS), SPEEDS).join("\n");
  expect(text).toContain("256,000");
  expect(text).toMatch(/checkpoints 36 TB \(1,000 versions of 37 GB, all kept\)/);
  expect(planExperiment(settings("quickstart"), SPEEDS).total.bytes.checkpoints).toBe(0);
});
