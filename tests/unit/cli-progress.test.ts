import { describe, expect, it } from "vitest";
import { completed, progressLine, sparkline } from "../../apps/cli/progress.ts";
import { loadExperiment } from "../../apps/control/experiments.ts";
import type { Progress } from "../../services/store/index.ts";

const { settings } = await loadExperiment("quickstart", {
  set: ["iterations=2", "synthesis.poolTasks=24", "climb.updates=8"],
});

const progress: Progress = {
  status: "running",
  error: null,
  phase: "pool",
  iteration: 1,
  elapsedSeconds: 65,
  phaseSeconds: 10,
  pool: { candidates: 20, rejected: 6, probes: 18, admitted: 12, histogram: [4, 0, 2] },
  update: 0,
  meanReward: null,
  rollouts: 144,
  setTasks: 0,
  evaluations: [],
};

describe("the progress line", () => {
  it("names the phase, its fill, the pass-rate histogram and what is left", () => {
    const line = progressLine(progress, settings);
    expect(line).toMatch(
      /^1 min 05 s {2}iteration 1\/2 · pool 12\/24 admitted of 20 candidates \(6 invalid, at most 64\), passes 0\.\.8 █·▄ · 144 rollouts · about \d+ min \d\d s left$/,
    );
  });

  it("grows over the phases of an iteration and ends at 1", () => {
    const shares = [
      { ...progress, iteration: 0, phase: "environments" },
      progress,
      { ...progress, phase: "climb", update: 4 },
      { ...progress, phase: "select" },
      { ...progress, phase: "finished" },
      { ...progress, iteration: 2 },
    ].map((snapshot) => completed(snapshot, settings));
    expect(shares).toEqual([...shares].sort((a, b) => a - b));
    expect(new Set(shares).size).toBe(shares.length);
    expect(completed({ ...progress, status: "done" }, settings)).toBe(1);
  });

  it("counts the tasks of fixed sets while it prepares", () => {
    const line = progressLine({ ...progress, iteration: 0, phase: "task sets", setTasks: 17 }, settings);
    expect(line).toContain("prepare · task sets, 17 of 50 held-out and validation tasks ·");
  });

  it("estimates nothing once it has ended, nor before it is known where it goes on", () => {
    const of = (changed: Partial<Progress>) =>
      progressLine({ ...progress, iteration: 2, ...changed }, settings);
    expect(of({})).toContain(" left");
    expect(of({ phase: "failed" })).not.toContain(" left");
    expect(of({ phase: "taken up again" })).not.toContain(" left");
    expect(of({ status: "failed" })).not.toContain(" left");
  });

  it("draws histograms", () => {
    expect(sparkline([])).toBe("");
    expect(sparkline([0, 0])).toBe("··");
    expect(sparkline([1, 8, 4])).toBe("▁█▄");
  });
});
