/** Caps of a pool: what is taken, what is too much like it, and how much of that is carried from run to run. */
import { describe, expect, it } from "vitest";
import { type Attributes, Diversity, type Taken } from "../../core/diversity.ts";
import { sketchOf } from "../../core/similarity.ts";
import type { DiversityCaps } from "../../core/synthesis.ts";

const NONE: DiversityCaps = { perFile: null, perOperator: null, perLineage: null, nearDuplicateBits: null };
const numbered = (n: number): Attributes => ({
  files: [`a#file${n}.js`],
  operators: [`operator${n}`],
  lineage: `commit ${n}`,
  sketch: sketchOf([`token${n}`, `word${n}`]),
});

/** Of a row of candidates, why each was left out; null = taken. */
function judge(caps: Partial<DiversityCaps>, candidates: readonly Attributes[]) {
  let taken: Taken | undefined;
  return candidates.map((candidate) => {
    // As if each was judged in another run.
    const diversity = new Diversity({ ...NONE, ...caps }, taken);
    const likeness = diversity.likeness(candidate);
    if (likeness === null) diversity.take(candidate);
    taken = JSON.parse(JSON.stringify(diversity.taken)) as Taken;
    return likeness;
  });
}

describe("Diversity", () => {
  it("takes everything where nothing is capped, and counts nothing then", () => {
    expect(judge({}, [numbered(1), numbered(1), numbered(1)])).toEqual([null, null, null]);
    const diversity = new Diversity(NONE);
    diversity.take(numbered(1));
    expect(diversity.taken).toEqual({ counts: {}, sketches: "" });
  });

  it.each([
    ["perFile", "same file", { files: ["a#file1.js"] }],
    ["perOperator", "same operator", { operators: ["operator1"] }],
    ["perLineage", "same origin", { lineage: "commit 1" }],
  ] as const)("%s: takes so many, and no more", (cap, reason, shared) => {
    const candidates = [1, 2, 3, 4].map((n) => ({ ...numbered(n), ...shared }));
    expect(judge({ [cap]: 2 }, candidates)).toEqual([null, null, reason, reason]);
    expect(judge({ [cap]: 2 }, [...candidates.slice(0, 3), numbered(9)]).at(-1)).toBeNull();
  });

  it("counts a file once for a candidate that changes it twice, and each of two files", () => {
    const twice = { ...numbered(1), files: ["a#x.js", "a#x.js"] };
    const both = { ...numbered(2), files: ["a#y.js", "a#x.js"] };
    expect(judge({ perFile: 2 }, [twice, both, both])).toEqual([null, null, "same file"]);
  });

  it("never caps what has no origin", () => {
    const own = { ...numbered(1), lineage: null };
    expect(judge({ perLineage: 1 }, [own, own])).toEqual([null, null]);
  });

  it("leaves out what is nearer to one taken than it may be", () => {
    expect(judge({ nearDuplicateBits: 1 }, [numbered(1), numbered(2), numbered(1)])).toEqual([
      ...[null, null, "near-duplicate"],
    ]);
    expect(judge({ nearDuplicateBits: 64 }, [numbered(1), numbered(2)])).toEqual([null, "near-duplicate"]);
  });

  it("takes what differs in just so many bits", () => {
    const sketched = (sketch: string): Attributes => ({ ...numbered(1), sketch });
    // The last digits differ in three bits.
    const pair = [sketched("AAAAAAAAAAA"), sketched("AAAAAAAAAAH")];
    expect(judge({ nearDuplicateBits: 3 }, pair)).toEqual([null, null]);
    expect(judge({ nearDuplicateBits: 4 }, pair)).toEqual([null, "near-duplicate"]);
  });

  it("carries little: 3,000 candidates are some 60 KB", () => {
    const diversity = new Diversity({ perFile: 50, perOperator: 500, perLineage: 2, nearDuplicateBits: 3 });
    for (let n = 0; n < 3000; n++)
      diversity.take({
        ...numbered(n),
        files: [`a#${n % 200}.js`],
        operators: [`o${n % 20}`],
        lineage: `commit ${n >> 1}`,
      });
    expect(JSON.stringify(diversity.taken).length).toBeLessThan(62_000);
  });
});
