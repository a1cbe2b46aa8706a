/** What a stream of candidates carries from run to run of its workflow: it must fit into a payload, however large the pool. */
import { createHash } from "node:crypto";
import { expect, it, vi } from "vitest";
import type { CandidateRef, SynthesiseInput } from "../../activities/types.ts";
import { sketchOf } from "../../core/similarity.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** No two alike, each of an origin and with a function of its own: as much to carry as there can be. */
const candidate = (index: number): CandidateRef => ({
  index,
  environment: { name: "minimist", key: "minimist@1.2.8-0123456789ab" },
  generator: "mutation",
  key: sha256(`candidate ${index}`),
  functions: [`minimist#lib/file${index}.js#function${index}`],
  diversity: {
    files: [`minimist#lib/file${index}.js`],
    operators: [`operator${index % 25}`],
    lineage: `commit ${index}`,
    sketch: sketchOf([`token${index}`, `word${index}`]),
  },
  artifact: {
    uri: `artifact:${sha256(`${index}`)}`,
    sha256: sha256(`${index}`),
    bytes: 9000,
    kind: "task",
  },
});

// All are far from each other; measuring every pair takes longer than the rest.
vi.mock("../../core/similarity.ts", async (original) => ({
  ...(await original<object>()),
  sketchDistance: () => 32,
}));

vi.mock("../../workflows/config.ts", () => ({
  sandboxes: {
    // Every fourth index comes to nothing.
    synthesise: async ({ from, count }: SynthesiseInput) => {
      const indices = Array.from({ length: count }, (_, i) => from + i);
      return {
        candidates: indices.filter((index) => index % 4 !== 3).map(candidate),
        empty: indices.filter((index) => index % 4 === 3).map((index) => ({ index, reason: "no site" })),
      };
    },
  },
}));
const { CandidateStream } = await import("../../workflows/candidates.ts");

it("carries less than 500 KB at 3,000 candidates with every cap, where Temporal takes 2 MB", async () => {
  const limits = {
    maxCandidates: 4000,
    perFunctionCap: 2,
    caps: { perFile: 50, perOperator: 500, perLineage: 2, nearDuplicateBits: 1 },
  };
  const source = { seed: 1 } as unknown as Omit<SynthesiseInput, "from" | "count">;
  let stream = new CandidateStream(source, limits);
  let taken = 0;
  // Cut now and then, as a long history is.
  while ((await stream.next()) !== null)
    if (++taken % 500 === 0)
      stream = new CandidateStream(source, limits, JSON.parse(JSON.stringify(stream.carried)));
  expect(taken).toBe(3000);
  expect(stream.leftOut(4000)).toEqual({ "nothing drawn": 1000 });
  const bytes = JSON.stringify(stream.carried).length;
  expect(bytes).toBeGreaterThan(100_000);
  expect(bytes).toBeLessThan(500_000);
});
