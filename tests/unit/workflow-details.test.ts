/** What workflows say of themselves in the Temporal UI: summaries within the server's limits, bars, expected ends. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clipped, describeCandidate, describeExperiment, describeGroup } from "../../core/descriptions.ts";
import {
  calibrationDetails,
  climbDetails,
  clock,
  evaluationDetails,
  expectedEnd,
  experimentDetails,
  passAt1Line,
  passBars,
  poolDetails,
  taskSetDetails,
  withPasses,
} from "../../core/details.ts";
import type { ExperimentSteering } from "../../core/steering.ts";
import { smallestSettings as settings } from "../support/smallest.ts";

/** Bytes that the server takes of a summary. */
const SUMMARY_BYTES = 400;
const NOON = Date.UTC(2026, 10, 30, 12);
const standing = { since: NOON, now: NOON, done: 0, left: 10 };

describe("clipped", () => {
  it("keeps any text within what the server takes of a summary, and a short line as it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 2000 }), (text) => {
        const line = clipped(text);
        expect(Buffer.byteLength(line)).toBeLessThanOrEqual(SUMMARY_BYTES);
        expect(line).not.toMatch(/\n/);
      }),
    );
    expect(clipped(" a  short\nline ")).toBe("a short line");
  });

  it("ends a long line with an ellipsis", () => {
    expect(clipped("x".repeat(500))).toMatch(/^x+…$/);
  });
});

describe("descriptions", () => {
  it("name what the workflow is about", () => {
    const candidate = {
      index: 7,
      generator: "mutation",
      environment: { name: "minimist" },
      key: "k",
      functions: Array.from({ length: 40 }, (_, i) => `minimist#lib/index.js#function${i}`),
    };
    const { staticSummary, staticDetails } = describeCandidate(candidate, "nano-1");
    expect(staticSummary).toMatch(/^candidate 7: a mutation in minimist of function0, function1/);
    expect(Buffer.byteLength(staticSummary)).toBeLessThanOrEqual(SUMMARY_BYTES);
    expect(staticDetails).toContain("minimist#lib/index.js#function39");
    const group = { key: "e/1", taskId: "t1", level: 2, size: 4, policy: { id: "nano-1" } };
    expect(describeGroup(group, 3).staticSummary).toBe("4 rollouts of t1 for update 3, by nano-1");
  });

  it("say who started an experiment, when it was no person", () => {
    expect(describeExperiment("e", settings).staticDetails).not.toContain("started by");
    expect(describeExperiment("e", settings, "schedule weekly")).toMatchObject({
      staticSummary: "schedule weekly: 1 iterations of 3 updates, seed 1",
      staticDetails: expect.stringContaining("- **started by**: schedule weekly"),
    });
  });
});

describe("expectedEnd", () => {
  it("is the rest at the pace so far", () => {
    expect(expectedEnd({ since: 0, now: 1000, done: 4, left: 8 })).toBe(3000);
  });

  it("is unknown before anything is done and when nothing is left, and never in the past", () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.nat(),
        fc.nat({ max: 100 }),
        fc.nat({ max: 100 }),
        (since, took, done, left) => {
          const end = expectedEnd({ since, now: since + took, done, left });
          if (done === 0 || left === 0 || took === 0) expect(end).toBeNull();
          else expect(end).toBeGreaterThan(since + took);
        },
      ),
    );
  });

  it("is shown as a time", () => {
    expect(clock(NOON)).toBe("2026-11-30 12:00 UTC");
  });
});

describe("passBars", () => {
  it("has a line for each number of passes, a bar for each count that is not 0, the longest for the largest", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 10_000 }), { minLength: 1, maxLength: 17 }), (counts) => {
        const lines = passBars(counts).split("\n");
        if (counts.every((count) => count === 0)) return expect(lines).toEqual([""]);
        const lengths = lines.map((line) => line.split("█").length - 1);
        expect(lines).toHaveLength(counts.length);
        counts.forEach((count, k) => {
          expect(lengths[k]! > 0).toBe(count > 0);
          if (count === Math.max(...counts)) expect(lengths[k]).toBe(24);
        });
      }),
    );
  });

  it("counts groups by their passes", () => {
    const counts = [2, 0, 2].reduce<number[]>((seen, passes) => withPasses(seen, passes, 4), []);
    expect(counts).toEqual([1, 0, 2, 0, 0]);
  });
});

describe("details", () => {
  it("of a pool: fill, expected end, bars, last failure", () => {
    const pool = {
      admitted: 5,
      wanted: 10,
      candidates: 12,
      maxCandidates: 40,
      dropped: 7,
      refined: 2,
      passes: [6, 0, 5],
      lastLeftOut: "candidate 11, a mutation in minimist: stability",
      lastFailure: "timeout: the\nserver   is busy",
      pace: { since: NOON, now: NOON + 600_000, done: 5, left: 5 },
    };
    const text = poolDetails(pool);
    expect(text).toContain("**5 of 10 tasks** from 12 candidates (at most 40): 7 left out");
    expect(text).toContain("full at about **2026-11-30 12:20 UTC**");
    expect(text).toContain(`0/2 ${"█".repeat(24)} 6`);
    expect(text).toContain("last left out: candidate 11");
    expect(text).toContain("last failure: timeout: the server is busy");
    const fresh = poolDetails({ ...pool, passes: [], lastLeftOut: null, lastFailure: null, pace: standing });
    expect(fresh).not.toMatch(/```|full at|last|not tried/);
    const untried = { "near-duplicate": 4, duplicate: 3 };
    expect(poolDetails({ ...pool, untried })).toContain("not tried: 3 duplicate, 4 near-duplicate");
  });

  it("of a climb: updates, policy, last update", () => {
    const text = climbDetails({
      update: 3,
      updates: 8,
      policy: "nano-3",
      lastUpdate: "3 from 2 groups",
      groups: 6,
      passes: [1, 2],
      lastFailure: null,
      pace: standing,
    });
    expect(text).toContain("**3 of 8 updates** · policy `nano-3` · 6 groups sampled");
    expect(text).toContain("last update: 3 from 2 groups");
  });

  it("of an evaluation: pass@1 of the tasks so far", () => {
    const evaluation = { tasks: 4, of: 40, passes: [2, 0, 2], lastFailure: null, pace: standing };
    expect(evaluationDetails(evaluation)).toContain("**4 of 40 tasks** · pass@1 so far 50.0 %");
    expect(evaluationDetails({ ...evaluation, tasks: 0, passes: [] })).toBe("**0 of 40 tasks**");
  });

  it("of a task set: what refused how many candidates", () => {
    const set = { tasks: 1, wanted: 2, candidates: 6, refused: { stability: 2, applies: 3 }, pace: standing };
    expect(taskSetDetails(set)).toContain("refused: 3 by applies, 2 by stability");
  });

  it("of an experiment: status, phase, hold, amendments, what was measured", () => {
    const state: ExperimentSteering = {
      status: "paused",
      hold: { kind: "user", reason: "host is serviced" },
      phase: "climb",
      iteration: 2,
      try: 3,
      policy: "nano-1",
      amendments: [{ request: "r", path: "climb.updates", value: 4, old: 3, fromIteration: 3 }],
    };
    const measured = passAt1Line({
      set: "heldout",
      mode: "sampled",
      policy: "nano-1",
      passAt1: 0.25,
      low: 0.1,
      high: 0.5,
    });
    expect(experimentDetails(state, 4, [measured]).split("\n\n")).toEqual([
      "**paused** · climb · iteration 2 of 4, try 3",
      "policy `nano-1`",
      "held (user): host is serviced",
      "- pass@1 of `nano-1` on heldout (sampled): **25.0 %** [10.0 %, 50.0 %]",
      "amended: `climb.updates` 3 → 4 from iteration 3",
    ]);
    const ended = experimentDetails(
      { ...state, status: "failed", hold: null },
      4,
      [],
      "no task was admitted",
    );
    expect(ended.split("\n\n").slice(0, 3)).toEqual([
      "**failed** · climb · iteration 2 of 4, try 3",
      "policy `nano-1`",
      "last failure: no task was admitted",
    ]);
  });
});

describe("a calibration", () => {
  it("says what was decided, one numbered line each, before there is a task and after", () => {
    const standing = {
      task: null,
      level: 1,
      refinements: 0,
      repairs: 1,
      steps: ["sent back (leak: it\ntells)"],
    };
    expect(calibrationDetails(standing)).toBe(
      "**no task yet** · sent back 1 ×\n\n1. sent back (leak: it tells)",
    );
    const steps = ["0 of 8 passed at level 1 (too-hard: 8 of 8 rollouts fail) → raise-level", "admitted"];
    expect(calibrationDetails({ task: "t1", level: 2, refinements: 1, repairs: 0, steps })).toBe(
      `task \`t1\` at level 2 · refined 1 ×\n\n1. ${steps[0]}\n2. admitted`,
    );
  });
});
