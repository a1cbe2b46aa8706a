/** Which version sampled which token: from the server's answers to the segments, and added up over a rollout. */
import * as fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { addTokens, lagCounts, meanLag, oldestVersion, tokensByPolicy } from "../../core/lag.ts";
import { segmentsOf } from "../../services/harness/segments.ts";
import { tokensOf } from "../../services/harness/versions.ts";
import { bash, rolloutOf, sayer } from "./harness-policy.ts";
import { type FolderSandbox, openFolder } from "./harness-sandbox.ts";

const open: FolderSandbox[] = [];
afterEach(async () => {
  for (const sandbox of open.splice(0)) await sandbox.destroy();
});
async function folder(): Promise<FolderSandbox> {
  const sandbox = await openFolder({ "a.js": "1" });
  open.push(sandbox);
  return sandbox;
}

const turn = fc
  .record({
    prompt: fc.integer({ min: 0, max: 3 }),
    /** Tokens of each version within the turn, at least one. */
    spans: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 3 }),
    first: fc.integer({ min: 0, max: 3 }),
    newSegment: fc.boolean(),
  })
  .map(({ prompt, spans, first, newSegment }) => {
    const byToken = spans.flatMap((span, i) => Array<string>(span).fill(`v${first + i}`));
    const starts = spans.map((_, i) => spans.slice(0, i).reduce((a, b) => a + b, 0));
    const versions = starts.map((from, i) => ({ from, version: `v${first + i}` }));
    return {
      byToken,
      row: {
        promptTokens: Array<number>(prompt).fill(1),
        sampledTokens: byToken.map(() => 2),
        logProbs: byToken.map(() => -1),
        weightVersion: `v${first}`,
        newSegment,
        ...(spans.length > 1 ? { reply: { versions } } : {}),
      },
    };
  });

describe("versions of tokens", () => {
  it("say of every sampled token which policy sampled it", () => {
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 6 }), (turns) => {
        const rows = turns.map(({ row }) => row);
        const expected = turns.flatMap(({ byToken }) => byToken);
        const found = segmentsOf(rows).flatMap(({ trainable, versions }) =>
          trainable.flatMap((sampled, index) =>
            sampled
              ? [versions?.findLast(({ from }) => from <= index)?.version ?? rows[0]!.weightVersion]
              : [],
          ),
        );
        expect(found).toEqual(expected);
        const counts: Record<string, number> = {};
        for (const version of expected) counts[version] = (counts[version] ?? 0) + 1;
        expect(tokensOf(rows)).toEqual(counts);
      }),
    );
  });

  it("are left out where all tokens are of one policy", () => {
    const row = { promptTokens: [1], sampledTokens: [2, 3], logProbs: [0, 0], weightVersion: "v1" };
    const [segment] = segmentsOf([
      { ...row, newSegment: true },
      { ...row, newSegment: false },
    ]);
    expect(segment).toEqual({
      tokens: [1, 2, 3, 1, 2, 3],
      trainable: [0, 1, 1, 0, 1, 1],
      logProbs: [0, 0, 0, 0, 0, 0],
    });
  });

  it("reach the rollout from the server's answers, and from its ledger where it goes on", async () => {
    const said = sayer([bash("true"), "done"]);
    const changing: typeof said.client = {
      ...said.client,
      complete: async (asked) => {
        const answer = { ...(await said.client.complete(asked)), weightVersion: "v1" };
        if (said.prompts.length === 1) return answer;
        return {
          ...answer,
          versions: [
            { from: 0, version: "v1" },
            { from: 2, version: "v2" },
          ],
        };
      },
    };
    const whole = await rolloutOf([], await folder(), { client: changing });
    const [first, second] = whole.rows.map(({ sampledTokens }) => sampledTokens.length);
    expect(whole.versions).toEqual({ v1: first! + 2, v2: second! - 2 });
    expect(whole.trajectory.segments[0]!.versions!.map(({ version }) => version)).toEqual(["v1", "v2"]);
    const resumed = await rolloutOf([], await folder(), { resumed: whole.rows });
    expect(resumed.prompts).toEqual([]);
    expect(resumed.versions).toEqual(whole.versions);
    expect(resumed.trajectory.segments).toEqual(whole.trajectory.segments);
  });
});

describe("lag", () => {
  it("counts tokens by their age when an update uses them", () => {
    expect(lagCounts({ b: 5, d: 2, c: 1 }, ["a", "b", "c", "d"])).toEqual([2, 1, 5]);
    expect(meanLag([2, 1, 5])).toBeCloseTo(11 / 8);
    expect(meanLag([])).toBeNull();
    expect(() => lagCounts({ z: 1 }, ["a"])).toThrow(/z is no version/);
  });

  it("is ruled by the oldest version, and unknown where one of them is", () => {
    expect(oldestVersion(["c", "b"], ["a", "b", "c"])).toBe(1);
    expect(oldestVersion(["c", "z"], ["a", "b", "c"])).toBeNull();
    expect(oldestVersion([], ["a"])).toBeNull();
  });

  it("reads a rollout's own record first", () => {
    const row = { policy: "a", generated_tokens: 7, versions: null };
    expect(tokensByPolicy(row)).toEqual({ a: 7 });
    expect(addTokens(tokensByPolicy(row), tokensByPolicy({ ...row, versions: { a: 3, b: 4 } }))).toEqual({
      a: 10,
      b: 4,
    });
  });
});
