/** What an iteration says whose pool admitted nothing. */
import { describe, expect, it } from "vitest";
import { countReason, emptyPool } from "../../core/empty-pool.ts";

const scope = { experiment: "demo", iteration: 2, try: 1 };

describe("a pool that admitted nothing", () => {
  it("says how many were tried, how many were tasks, and why most were left out", () => {
    const reasons = {
      "fail-to-pass": 2,
      "too-easy-at-least-specific": 4,
      ends: 1,
      build: 1,
      reproduction: 1,
    };
    const pool = { candidates: 9, valid: 4, reasons, leftOut: { duplicate: 1 } };
    expect(emptyPool(pool, scope, "nano-1")).toBe(
      "no task was admitted: 9 candidates were tried against nano-1, 4 of them valid tasks, 1 more were drawn and not tried (duplicate 1); left out by too-easy-at-least-specific 4, fail-to-pass 2, build 1, ends 1, others 1. Widen filter.band, allow other levels of statements (synthesis.minLevel, maxLevel), or raise synthesis.maxCandidates. tadpole pool demo shows the candidates of exp/demo/it/2/try/1 by outcome.",
    );
  });

  it("advises by where they were lost: no band helps what no gate lets through", () => {
    const refused = emptyPool({ candidates: 3, valid: 0, reasons: { build: 3 } }, scope, "nano-1");
    expect(refused).toContain(
      "3 candidates were tried against nano-1, 0 of them valid tasks; left out by build 3.",
    );
    expect(refused).not.toContain("filter.band");
    expect(emptyPool({ candidates: 0, valid: 0, leftOut: { "used before": 8 } }, scope, "nano-1")).toContain(
      "Add environments",
    );
    // Of a pool from before reasons were counted.
    expect(emptyPool({ candidates: 9 }, scope, "nano-1")).toContain(
      "9 candidates were tried against nano-1. ",
    );
  });

  it("counts few reasons, whatever texts there are", () => {
    const reasons: Record<string, number> = {};
    for (let i = 0; i < 100; i++) countReason(reasons, `reason ${i}`);
    countReason(reasons, "harden: one text");
    countReason(reasons, "reason 1: another");
    expect(Object.keys(reasons).length).toBe(21);
    expect(reasons).toMatchObject({ "reason 1": 2, others: 81 });
  });
});
