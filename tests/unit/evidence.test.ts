import { describe, expect, it } from "vitest";
import { type Condition, findings, type Record, renderEvidence } from "../../bench/evidence-report.ts";

const conditions: readonly Condition[] = [
  "untrained",
  "untrained × 2",
  "untrained × 4",
  "untrained, greedy",
  "trained",
  "trained, greedy",
];

/** 20 tasks of 2 runs; `passing` says how many of them pass both. */
function record(condition: Condition, set: string, passing: number): Record {
  return {
    seed: 1,
    set,
    setHash: "0123",
    condition,
    policy: "nano-0",
    results: Array.from({ length: 20 }, (_, task) => ({
      taskId: `t${task}`,
      passes: task < passing ? 2 : 0,
      runs: 2,
    })),
  };
}

describe("the evidence page", () => {
  const records = ["a", "b"].flatMap((set) =>
    conditions.map((condition) =>
      record(
        condition,
        set,
        {
          untrained: 4,
          "untrained × 2": 5,
          "untrained × 4": 7,
          "untrained, greedy": 6,
          trained: 12,
          "trained, greedy": 12,
        }[condition],
      ),
    ),
  );

  it("pools sets by task and pairs differences by task", () => {
    const pooled = findings(records).find(({ set }) => set === "all")!;
    expect(pooled.passAt1.get("untrained")!.mean).toBeCloseTo(0.2, 12);
    expect(pooled.gain.mean).toBeCloseTo(0.4, 12);
    expect(pooled.gain.low).toBeGreaterThan(0);
    expect(pooled.bestControl).toBe("untrained × 4");
    expect(pooled.gainOverControl.mean).toBeCloseTo(0.25, 12);
  });

  it("claims no gain where the interval holds 0", () => {
    const same = ["a"].flatMap((set) => conditions.map((condition) => record(condition, set, 4)));
    expect(renderEvidence(same, "abc")).toContain(
      "above 0 on 0 of 1 seeds; trained − best control on 0 of 1",
    );
    expect(renderEvidence(records, "abc")).toContain(
      "above 0 on 1 of 1 seeds; trained − best control on 1 of 1",
    );
  });
});
