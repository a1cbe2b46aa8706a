/** The scale bench's own parts: how many rollouts its experiment has, and what it counts in a history. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scaleActivities } from "../../bench/scale-activities.ts";
import { largestPayload } from "../../bench/scale-history.ts";
import { rolloutsOf, scaledSettings, UNIT } from "../../bench/scale-plan.ts";
import { experimentSchema, parseExperimentFile } from "../../core/schemas/index.ts";

const file = new URL("../../experiments/frognano.yaml", import.meta.url);
const paper = parseExperimentFile(readFileSync(file, "utf8"), "frognano.yaml");

describe("the scaled experiment", () => {
  it("has a thousand rollouts per unit and settings that a file may have", () => {
    for (const units of [1, 2, 5, 12]) {
      const settings = scaledSettings(paper, units);
      expect(rolloutsOf(settings)).toBe(units * UNIT);
      expect(experimentSchema.parse(settings)).toEqual(settings);
    }
  });

  it("has candidates with keys of their own, the same each time", async () => {
    const { activities } = scaleActivities();
    const drawn = (key: string) =>
      activities.synthesise({
        ...{ seed: 1, randomKeys: [1, key], environments: [{ name: "qs", key: "qs@1" }], heldOutShare: 0.5 },
        ...{
          choice: "random",
          functions: "train",
          mix: paper.synthesis.mix,
          exclude: null,
          from: 3,
          count: 50,
        },
      });
    const [pool, again, set] = [await drawn("pool"), await drawn("pool"), await drawn("set")];
    expect(again).toEqual(pool);
    const keys = [...pool.candidates, ...set.candidates].map(({ key }) => key);
    expect(new Set(keys).size).toBe(100);
    expect(pool.candidates.map(({ index }) => index)).toEqual(Array.from({ length: 50 }, (_, i) => 3 + i));
  });
});

describe("the largest payload of an event", () => {
  const payload = (bytes: number) => ({
    metadata: { encoding: new Uint8Array(40) },
    data: new Uint8Array(bytes),
  });

  it("is found however deep it lies, and the metadata are none", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1000), { minLength: 1, maxLength: 5 }), fc.nat(4), (sizes, depth) => {
        let event: object = { input: { payloads: sizes.map(payload) }, attempt: 1, failure: null };
        for (let level = 0; level < depth; level++) event = { attributes: event, other: "text" };
        expect(largestPayload(event)).toBe(Math.max(...sizes));
      }),
    );
    expect(largestPayload({ metadata: { encoding: new Uint8Array(40) } })).toBe(0);
  });
});
