/** What every bench is made of: ratios and goals, turns and medians, the table, the command line. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Measure, measure } from "../../bench/bench.ts";
import { timeMeasures } from "../../bench/percentiles.ts";
import { BENCHES } from "../../bench/registry.ts";
import { inTurns, interleaved, median, medians, percentile, timed } from "../../bench/repeat.ts";
import { exitCodeOf, formatNumber, renderReports } from "../../bench/report.ts";
import { packageRoot } from "../../infra/stack/index.ts";

const of = (change: Partial<Measure> = {}): Measure =>
  measure({ name: "m", value: 11, unit: "ms", reference: 10, better: "lower", goal: 1.1, ...change });

describe("a measure", () => {
  it("meets its goal at the bound and misses it beyond, on the side that is worse", () => {
    expect(of()).toMatchObject({ ratio: 1.1, ok: true });
    expect(of({ value: 11.1 }).ok).toBe(false);
    expect(of({ value: 5 }).ok).toBe(true);
    expect(of({ better: "higher", value: 11 }).ok).toBe(true);
    expect(of({ better: "higher", value: 10.9 }).ok).toBe(false);
  });

  it("without a goal misses none", () => {
    expect(of({ goal: null, value: 1000 }).ok).toBe(true);
  });

  it("is refused where it has no ratio", () => {
    expect(() => of({ reference: 0 })).toThrow(/m: 11 against 0 has no ratio/);
    expect(() => of({ value: Number.NaN })).toThrow(RangeError);
  });
});

describe("repeats", () => {
  it("have a median between the halves, whatever the order", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ noNaN: true, min: -1e9, max: 1e9 }), { minLength: 1, maxLength: 20 }),
        (values) => {
          const middle = median(values);
          expect(median(values.toReversed())).toBe(middle);
          expect(values.filter((value) => value < middle).length).toBeLessThanOrEqual(values.length / 2);
          expect(values.filter((value) => value > middle).length).toBeLessThanOrEqual(values.length / 2);
        },
      ),
    );
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(() => median([])).toThrow(RangeError);
  });

  it("take turns, each side first in half of the rounds, one at a time", async () => {
    const calls: string[] = [];
    let running = 0;
    const side = (name: string) => async (round: number) => {
      expect(++running).toBe(1);
      await Promise.resolve();
      running--;
      calls.push(`${name}${round}`);
      return round;
    };
    const results = await interleaved(4, { subject: side("s"), reference: side("r") });
    expect(calls).toEqual(["r0", "s0", "s1", "r1", "r2", "s2", "s3", "r3"]);
    expect(results).toEqual({ subject: [0, 1, 2, 3], reference: [0, 1, 2, 3] });
    expect(medians(results, (round) => 2 * round)).toEqual({ subject: 3, reference: 3 });
  });

  it("have percentiles that so large a share does not exceed, and no smaller value of theirs", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 100 }),
        (values, percent) => {
          const found = percentile(values, percent / 100);
          const within = (bound: number) => values.filter((value) => value <= bound).length * 100;
          expect(values).toContain(found);
          expect(within(found)).toBeGreaterThanOrEqual(percent * values.length);
          for (const smaller of values.filter((value) => value < found))
            expect(within(smaller)).toBeLessThan(percent * values.length);
        },
      ),
    );
    expect(() => percentile([], 0.5)).toThrow(RangeError);
    expect(() => percentile([1], 0)).toThrow(RangeError);
  });

  it("let three sides go first by turns", async () => {
    const calls: string[] = [];
    const side = (name: string) => (round: number) => calls.push(`${name}${round}`);
    await inTurns(3, { a: side("a"), b: side("b"), c: side("c") });
    expect(calls).toEqual(["a0", "b0", "c0", "b1", "c1", "a1", "c2", "a2", "b2"]);
  });

  it("are measured by median, which has the goal, and by the slowest twentieth", () => {
    const subject = Array.from({ length: 100 }, (_, i) => i / 1000);
    const reference = subject.map((seconds) => 2 * seconds);
    expect(timeMeasures("it", { subject, reference }, "ms", 0.4)).toMatchObject([
      { name: "it, p50", value: 49, reference: 98, goal: 0.4, ok: false },
      { name: "it, p95", value: 94, reference: 188, goal: null, ok: true },
    ]);
  });

  it("keep what was made beside its time", async () => {
    const { seconds, value } = await timed(async () => "made");
    expect(value).toBe("made");
    expect(seconds).toBeGreaterThanOrEqual(0);
  });
});

describe("the report", () => {
  const missed = of({ name: "slow", value: 20 });

  it("shows value, reference, ratio and goal of each measure, and why a bench did not run", () => {
    const lines = renderReports([
      { name: "one", measures: [of(), missed, of({ name: "free", goal: null })] },
      { name: "two", measures: [], error: "no bubblewrap" },
    ]).split("\n");
    expect(lines[1]).toMatch(/^one +m +11 +10 +ms +1\.100 +≤ 1\.1 ✓$/);
    expect(lines[2]).toMatch(/^one +slow +20 +10 +ms +2\.000 +≤ 1\.1 missed$/);
    expect(lines[3]).toMatch(/1\.100 +–$/);
    expect(lines[4]).toBe("two did not run: no bubblewrap");
  });

  it("fails for what could not run, and for a missed goal only when that is asked for", () => {
    const good = { name: "one", measures: [of()] };
    const bad = { name: "one", measures: [missed] };
    expect(exitCodeOf([good], true)).toBe(0);
    expect(exitCodeOf([good, bad], false)).toBe(0);
    expect(exitCodeOf([good, bad], true)).toBe(1);
    expect(exitCodeOf([good, { name: "two", measures: [], error: "no" }], false)).toBe(1);
  });

  it("writes numbers of any size shortly", () => {
    expect([8.1234, 0.005123, 12_345_678].map(formatNumber)).toEqual(["8.12", "0.00512", "12,300,000"]);
  });
});

describe("npm run bench", () => {
  const bench = (...args: string[]) =>
    promisify(execFile)(process.execPath, [join(packageRoot, "bench/main.ts"), ...args]).then(
      (result) => ({ code: 0, ...result }),
      (error: { code: number; stdout: string; stderr: string }) => error,
    );

  it("says what there is", async () => {
    const { code, stdout } = await bench("--help");
    expect(code).toBe(0);
    for (const { name } of BENCHES) expect(stdout).toContain(`  ${name} `);
  });

  it("refuses an unknown name and lists the known ones, and an unknown flag", async () => {
    const unknown = await bench("sandbx");
    expect(unknown).toMatchObject({ code: 2, stdout: "" });
    expect(unknown.stderr).toBe(
      'bench: no bench "sandbx"; expected one of temporal, scale, sandbox, probing, gates, grading, batch, loss, memory\n',
    );
    expect(await bench("--jason")).toMatchObject({ code: 2, stdout: "" });
    expect((await bench("loss", "batch")).code).toBe(2);
  });
});
