/** What single benches rely on: the plain loss, raw files, mutated trees, agreement, processes. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sameRows, throughRawFiles } from "../../bench/batch.ts";
import { batchRows } from "../../bench/batch-rows.ts";
import { differenceOf as gradedApart, mutatedTrees } from "../../bench/grading.ts";
import { differenceOf as lossesApart, plainLoss, tokenBatch } from "../../bench/loss.ts";
import { processMeasures } from "../../bench/memory.ts";
import { type LossKind, policyLoss } from "../../core/loss.ts";

const settings = { threshold: 0.2, clipLow: 0.2, clipHigh: 0.28, ratioLow: 0.5, ratioHigh: 2 };

describe("the plain loss", () => {
  it("is the kernel's, for every kind and batch", () => {
    fc.assert(
      fc.property(
        fc.constantFrom<LossKind>("dppo-tv", "two-sided", "ratio-clip"),
        fc.nat(),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 60 }),
        (kind, seed, trajectories, length) => {
          const batch = tokenBatch(seed, trajectories, length);
          expect(
            lossesApart(policyLoss(batch, { kind, ...settings }), plainLoss(batch, { kind, ...settings })),
          ).toBe(null);
        },
      ),
      { numRuns: 200 },
    );
  });

  it("is told apart from a wrong one", () => {
    const batch = tokenBatch(1, 4, 100);
    const right = plainLoss(batch, { kind: "dppo-tv", ...settings });
    expect(right.droppedTokens).toBeGreaterThan(0);
    expect(lossesApart(right, { ...right, loss: right.loss + 1e-6 })).toBe("loss");
    expect(lossesApart(right, { ...right, droppedTokens: right.droppedTokens + 1 })).toBe("droppedTokens");
    const gradient = right.gradient.map((value, i) =>
      i === batch.trainable.indexOf(1) ? -value - 1e-6 : value,
    );
    expect(lossesApart(right, { ...right, gradient })).toBe("gradient");
  });
});

describe("raw files", () => {
  it("give back every row of a batch", async () => {
    const folder = await mkdtemp(join(tmpdir(), "tadpole-bench-test-"));
    try {
      const rows = batchRows(1, 3, 2, 50);
      const { rows: back, bytes } = await throughRawFiles(join(folder, "raw"), rows);
      expect(sameRows(rows, back)).toBe(true);
      const tokens = rows.reduce((sum, row) => sum + row.tokens.length, 0);
      expect(bytes).toBeGreaterThan(13 * tokens);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("are told apart from other rows", () => {
    const rows = batchRows(1, 1, 2, 50);
    expect(sameRows(rows, rows.slice(1))).toBe(false);
    expect(sameRows(rows, [rows[0]!, { ...rows[1]!, reward: 7 }])).toBe(false);
    const tokens = Int32Array.from(rows[1]!.tokens, (token) => token + 1);
    expect(sameRows(rows, [rows[0]!, { ...rows[1]!, tokens }])).toBe(false);
  });
});

describe("mutated trees", () => {
  const files = new Map([
    ["a.js", "module.exports = (a, b) => a + b;\n"],
    ["b.js", "exports.low = (a, b) => (a < b ? a : b);\n"],
  ]);

  it("are one edit each, all of them different, the same ones every time", () => {
    const trees = mutatedTrees(["a.js", "b.js"], files, 6);
    expect(trees).toHaveLength(6);
    for (const changes of trees) {
      expect(changes).toHaveLength(1);
      const change = changes[0]!;
      expect(change.kind === "write" && change.content !== files.get(change.path)).toBe(true);
    }
    expect(new Set(trees.map((tree) => JSON.stringify(tree))).size).toBe(6);
    expect(mutatedTrees(["a.js", "b.js"], files, 6)).toEqual(trees);
  });
});

describe("agreement of two test runs", () => {
  const environment = { baseline: { "t > a": "passed", "t > b": "passed", "t > c": "skipped" } } as const;
  const run = {
    report: { statuses: { "t > a": "passed", "t > b": "failed" }, complete: true },
    exitCodes: { t: 1 },
    contradictions: [],
    ended: true,
    outOfMemory: false,
    treeHash: "0",
  } as const;

  it("holds for equal runs, whatever the order of their tests", () => {
    const report = { complete: true, statuses: { "t > b": "failed", "t > a": "passed" } } as const;
    expect(gradedApart(environment, run, { ...run, report })).toBe(null);
  });

  it("breaks with a status, an exit code, a tree or an ending that differs", () => {
    const statuses = { "t > a": "failed", "t > b": "failed" } as const;
    expect(gradedApart(environment, { ...run, report: { statuses, complete: true } }, run)).toMatch(/status/);
    expect(gradedApart(environment, { ...run, exitCodes: { t: 2 } }, run)).toMatch(/exit codes/);
    expect(gradedApart(environment, { ...run, treeHash: "1" }, run)).toMatch(/trees/);
    expect(gradedApart(environment, { ...run, ended: false, stoppedBy: "cpu" }, run)).toBe(
      "warm says timeout, cold says fail-to-pass-failed",
    );
  });

  it("does not ask which limit ended a run, nor how far it had come", () => {
    const stopped = { ...run, ended: false, stoppedBy: "cpu" } as const;
    const sooner = {
      ...stopped,
      stoppedBy: "memory",
      outOfMemory: true,
      report: { statuses: {}, complete: false },
    } as const;
    expect(gradedApart(environment, stopped, sooner)).toBe(null);
  });
});

describe("memory of the stack", () => {
  it("leaves out what runs elsewhere and refuses a process that has ended", () => {
    const policy = { name: "policy", state: "ready", rssMb: 100 };
    const measures = processMeasures([policy, { name: "postgres", state: "external", rssMb: null }], "x");
    expect(measures).toMatchObject([{ name: "policy after x", value: 104.8576, reference: 300, ok: true }]);
    expect(processMeasures([{ ...policy, rssMb: 290 }], "x")).toMatchObject([{ ok: false }]);
    expect(() => processMeasures([{ ...policy, state: "backoff", rssMb: null }], "x")).toThrow(
      "policy does not run (backoff)",
    );
  });
});
