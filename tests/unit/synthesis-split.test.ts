/** The held-out split and the keys by which duplicates are dropped. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { composeChanges } from "../../core/changes.ts";
import { taskId, writeText } from "../../services/synthesis/changes.ts";
import { type Candidate, candidateKey, functionKey, isHeldOut } from "../../services/synthesis/index.ts";
import { mayChange } from "../../services/synthesis/split.ts";

const keys = fc.tuple(fc.string(), fc.string(), fc.string()).map(([a, b, c]) => functionKey(a, b, c));
const shares = fc.double({ min: 0, max: 1, noNaN: true });

describe("isHeldOut", () => {
  it("never moves a function: these were fixed when the split was made", () => {
    const split = ["isNumber", "hasKey", "setKey", "setArg", "aliasIsBoolean", "parse"].map((name) =>
      isHeldOut(functionKey("minimist", "index.js", name), 0.3),
    );
    expect(split).toEqual([false, false, false, false, true, false]);
  });

  it("holds nothing out at share 0, everything at 1, and only adds functions as the share grows", () => {
    fc.assert(
      fc.property(keys, shares, shares, (key, a, b) => {
        const [low, high] = a < b ? [a, b] : [b, a];
        expect(isHeldOut(key, 0)).toBe(false);
        expect(isHeldOut(key, 1)).toBe(true);
        if (isHeldOut(key, low)) expect(isHeldOut(key, high)).toBe(true);
      }),
    );
  });

  it("holds out about the share of many functions", () => {
    const many = Array.from({ length: 4000 }, (_, i) => isHeldOut(functionKey("p", "f.js", `g${i}`), 0.3));
    const share = many.filter(Boolean).length / many.length;
    expect(share).toBeGreaterThan(0.27);
    expect(share).toBeLessThan(0.33);
  });

  it("gives every function to exactly one side", () => {
    fc.assert(
      fc.property(keys, shares, (key, heldOutShare) => {
        const train = mayChange(key, { functions: "train", heldOutShare });
        expect(mayChange(key, { functions: "held-out", heldOutShare })).toBe(!train);
        expect(mayChange(key, { functions: "all", heldOutShare })).toBe(true);
      }),
    );
  });
});

const candidate: Candidate = {
  type: "bug",
  generator: "mutation",
  base: [writeText("a.js", "1"), writeText("b.js", "2")],
  gold: [writeText("a.js", "0")],
  sites: [{ file: "a.js", functionName: "f", line: 1, operator: "constant" }],
  functions: ["p#a.js#f"],
};

describe("candidateKey", () => {
  it("depends on the base tree alone, not on how it was reached or in which order it is written", () => {
    const other: Candidate = {
      ...candidate,
      generator: "combination",
      base: [writeText("b.js", "2"), { kind: "write", path: "a.js", content: "MQ==", encoding: "base64" }],
      functions: ["p#a.js#g"],
    };
    expect(candidateKey(other)).toBe(candidateKey(candidate));
    expect(candidateKey({ ...candidate, base: [writeText("a.js", "3")] })).not.toBe(candidateKey(candidate));
    expect(candidateKey({ ...candidate, functions: ["q#a.js#f"] })).not.toBe(candidateKey(candidate));
  });

  it("depends on the solution too where the candidate brings its own tests or check: many begin with the snapshot", () => {
    const authored: Candidate = { ...candidate, base: [], tests: [writeText("test/new.js", "1")] };
    const another: Candidate = { ...authored, gold: [writeText("a.js", "another")] };
    expect(candidateKey(another)).not.toBe(candidateKey(authored));
    expect(candidateKey({ ...authored, tests: [writeText("test/new.js", "2")] })).toBe(
      candidateKey(authored),
    );
    const { tests: _, ...untested } = another;
    const check = { type: "migration", absent: ["x"], present: [] } as const;
    const { tests: __, ...plain } = authored;
    expect(candidateKey({ ...untested, check })).not.toBe(candidateKey({ ...plain, check }));
    expect(candidateKey(untested)).toBe(candidateKey(plain));
  });
});

describe("taskId", () => {
  it("changes with every field that is part of the task", () => {
    const task = {
      environment: "p@1.0.0-000000000000",
      type: candidate.type,
      generator: candidate.generator,
      base: candidate.base,
      gold: candidate.gold,
      hiddenFiles: ["t.js"],
      failToPass: ["t.js > a > b#1"],
      passToPass: [],
      functions: candidate.functions,
    };
    const ids = [
      task,
      { ...task, environment: "p@1.0.1-000000000000" },
      { ...task, type: "feature" as const },
      { ...task, gold: [] },
      { ...task, hiddenFiles: [] },
      { ...task, failToPass: [], passToPass: task.failToPass },
    ].map(taskId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^t[0-9a-f]{16}$/);
  });
});

describe("composeChanges", () => {
  it("keeps the later change of each path and sorts by path", () => {
    const composed = composeChanges(
      [writeText("b", "1"), writeText("a", "1")],
      [{ kind: "delete", path: "b" }],
    );
    expect(composed).toEqual([writeText("a", "1"), { kind: "delete", path: "b" }]);
  });
});
