/** Diagnosis: which of the named causes the summaries of a probe's rollouts point to, and on what counts. */
import { describe, expect, it } from "vitest";
import { diagnose, type RolloutSummary, type Symptoms } from "../../core/diagnosis.ts";

const failure: RolloutSummary = {
  passed: false,
  truncated: false,
  rule: "fail-to-pass-failed",
  reach: "lines",
  lines: 2,
  tree: "a",
  failing: ["t > one"],
  flags: [],
  ranTests: true,
  reproduced: false,
};
const pass: RolloutSummary = { ...failure, passed: true, rule: "all-passed", failing: [], reproduced: true };
const times = (count: number, one: RolloutSummary): RolloutSummary[] => new Array(count).fill(one);

const because = (change: Partial<Symptoms>) =>
  diagnose({
    decision: change.rollouts?.[0]?.passed ? "all-pass" : "all-fail",
    level: 1,
    neededLevel: 0,
    names: null,
    goldLines: 2,
    rollouts: [],
    ...change,
  });

describe("what always passes", () => {
  it("is weakly tested where a pass leaves the intended files alone, or answers the hidden tests by heart", () => {
    expect(because({ rollouts: [...times(3, pass), { ...pass, reach: "none" }] })).toEqual({
      cause: "weak-tests",
      evidence: "1 of 4 passes leave the files of the intended change alone",
    });
    expect(because({ rollouts: times(4, { ...pass, flags: ["special-casing"] }) })?.cause).toBe("weak-tests");
  });

  it("has a shortcut where most passes are made beside the place, or by one much smaller change", () => {
    const beside = { ...pass, reach: "file" } as const;
    expect(because({ rollouts: [...times(3, beside), pass] })).toEqual({
      cause: "shortcut",
      evidence: "3 of 4 passes change neither the lines nor the functions of the intended change",
    });
    expect(because({ rollouts: times(4, pass), goldLines: 6 })).toEqual({
      cause: "shortcut",
      evidence: "all 4 passes make the same change of 2 lines, where 6 were intended",
    });
    expect(because({ rollouts: [...times(3, pass), { ...pass, tree: "b" }], goldLines: 6 })?.cause).toBe(
      "too-easy",
    );
  });

  it("is told the place where the statement names it and need not", () => {
    expect(because({ rollouts: times(4, pass), names: "function", level: 2 })).toEqual({
      cause: "leak",
      evidence: "at level 2 the statement names the function; level 0 says what the tests need",
    });
    expect(because({ rollouts: times(4, pass), names: "function", level: 2, neededLevel: 2 })?.cause).toBe(
      "too-easy",
    );
  });

  it("is else too easy, also where only most pass", () => {
    expect(because({ rollouts: times(4, pass) })).toEqual({
      cause: "too-easy",
      evidence: "4 of 4 rollouts pass, by changes at the intended place",
    });
    expect(because({ decision: "too-easy", rollouts: [pass, pass, pass, failure] })?.cause).toBe("too-easy");
  });
});

describe("what always fails", () => {
  it("is unsolvable where the reference change fails, or nothing can be judged", () => {
    const upstream = { ...failure, flags: ["patch-equals-upstream"] };
    expect(because({ rollouts: [...times(3, failure), upstream] })).toEqual({
      cause: "unsolvable",
      evidence: "1 of 4 failures made the reference change",
    });
    expect(because({ rollouts: times(4, { ...failure, rule: "timeout" }) })?.cause).toBe("unsolvable");
  });

  it("is stated otherwise than tested where the statement is satisfied and one hidden test is not", () => {
    const satisfied = { ...failure, reproduced: true };
    const rollouts = [{ ...satisfied, failing: ["t > one", "t > two"] }, satisfied, satisfied, failure];
    expect(because({ rollouts })).toEqual({
      cause: "statement-test-disagreement",
      evidence: "3 of 4 failures print what the statement asks for and fail the same hidden test: t > one",
    });
    const others = [{ ...satisfied, failing: ["t > two"] }, satisfied, satisfied, failure];
    expect(because({ rollouts: others })?.cause).toBe("too-hard");
    const elsewhere = times(4, { ...satisfied, reach: "file" });
    expect(because({ rollouts: elsewhere })?.cause).toBe("does-not-find-the-place");
  });

  it("is cut short where limits end most, before anything is said of where they looked", () => {
    const cut = { ...failure, truncated: true, reach: "none" } as const;
    expect(because({ rollouts: [...times(3, cut), failure] })).toEqual({
      cause: "cut-short",
      evidence: "3 of 4 failures were ended by a limit",
    });
    expect(because({ rollouts: [cut, cut, failure, failure] })?.cause).toBe("too-hard");
  });

  it("does not find the place where most change something else, or nothing", () => {
    const lost = [
      { ...failure, reach: "none" },
      { ...failure, reach: "file" },
    ] as const;
    expect(because({ rollouts: [...lost, ...lost, failure] })?.cause).toBe("does-not-find-the-place");
  });

  it("is else too hard, as is what nothing is known of", () => {
    expect(because({ rollouts: [...times(3, failure), { ...failure, ranTests: false }] })).toEqual({
      cause: "too-hard",
      evidence: "4 of 4 rollouts fail: 4 at the right place, 1 without running a test",
    });
    expect(because({ rollouts: times(4, { ...failure, reach: null }) })?.cause).toBe("too-hard");
    expect(because({ decision: "all-fail" })).toEqual({
      cause: "too-hard",
      evidence: "no rollout is on record",
    });
  });

  it("is weakly tested where the rare pass skips the change", () => {
    const rollouts = [...times(7, failure), { ...pass, reach: "none" } as const];
    expect(because({ decision: "too-hard", rollouts })?.cause).toBe("weak-tests");
  });
});

it("says nothing of what is admitted", () => {
  expect(because({ decision: "admit", rollouts: [pass, failure] })).toBeNull();
});
