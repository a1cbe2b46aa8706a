/** How long a trainer waits, and the pace that settings ask for. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { ExperimentSettings } from "../../core/experiment.ts";
import { idleBefore, type TrainerTime, withUpdate } from "../../core/pace-record.ts";
import { isAsync, paceSettings } from "../../core/pace-settings.ts";
import { applyOverrides, parseExperimentFile } from "../../core/schemas/index.ts";

const file = new URL("../support/smallest.yaml", import.meta.url);
const smallest = parseExperimentFile(readFileSync(file, "utf8"), "smallest.yaml");

describe("a trainer's time", () => {
  it("is idle from the end of one update to the beginning of the next, counted from the first", () => {
    expect(idleBefore(null, 5_000)).toEqual({ waitedSeconds: null, idleShare: null });
    const first = withUpdate(null, 5_000, 8_000);
    expect(idleBefore(first, 9_000)).toEqual({ waitedSeconds: 1, idleShare: 0.25 });
    const second: TrainerTime = withUpdate(first, 9_000, 12_000);
    expect(second).toEqual({ since: 5_000, busy: 6_000, ended: 12_000 });
    expect(idleBefore(second, 13_000)).toEqual({ waitedSeconds: 1, idleShare: 0.25 });
  });

  it("is not idle where no time has passed", () => {
    expect(idleBefore(withUpdate(null, 5, 5), 5)).toEqual({ waitedSeconds: 0, idleShare: 0 });
  });
});

describe("the pace of settings", () => {
  const on = (onPublish: "finish" | "continue"): ExperimentSettings => ({
    ...smallest,
    policy: { ...smallest.policy, kind: "sglang", engines: { onPublish } as never },
  });

  it("is exact where nothing is said, and of settings older than paces", () => {
    expect(isAsync(smallest)).toBe(false);
    const { pace: _, ...climb } = smallest.climb;
    expect(isAsync({ ...smallest, climb } as ExperimentSettings)).toBe(false);
    expect(isAsync(applyOverrides(smallest, ["climb.pace.kind=async"]))).toBe(true);
  });

  it("keeps old versions where the server does, and else does as its engines are told", () => {
    expect(paceSettings(smallest, 9).onPublish).toBe("keep");
    expect(paceSettings(on("finish"), 9).onPublish).toBe("drain");
    expect(paceSettings(on("continue"), 9).onPublish).toBe("continue");
  });

  it("makes batches of no more groups than there are tasks, and pays for the greatest that a group may grow to", () => {
    const grown = applyOverrides(smallest, [
      ...["climb.groups.kind=dynamic", "climb.groups.maxSize=12", "climb.rolloutBudget=100"],
    ]);
    expect(paceSettings(grown, 1)).toMatchObject({ batch: 1, budget: { rollouts: 100, perGroup: 12 } });
    expect(paceSettings(smallest, 9)).toMatchObject({ batch: 2, budget: null });
  });

  it("is refused where not even one group may be in progress", () => {
    const small = ["climb.pace.kind=async", "climb.pace.trajectories=3"];
    expect(() => applyOverrides(smallest, small)).toThrow(
      /climb\.pace\.trajectories.*at least climb\.groupSize \(4\)/,
    );
  });
});
