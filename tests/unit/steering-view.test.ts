import { describe, expect, it } from "vitest";
import { steeringLines } from "../../apps/cli/steering-view.ts";

const ended = {
  status: "ended",
  hold: null,
  phase: "failed",
  iteration: 2,
  try: 1,
  policy: "nano-1",
  amendments: [],
} as const;

describe("the state of an experiment, for people", () => {
  it("says why one ended that was not done", () => {
    expect(steeringLines("demo", { ...ended, error: "no task was admitted" })).toEqual([
      "demo: ended · iteration 2, failed · policy nano-1",
      "why: no task was admitted",
    ]);
    expect(steeringLines("demo", { ...ended, phase: "done", error: null })).toHaveLength(1);
  });
});
