/** A label holds for the policy, the statement and the settings that it was made with, and for no other. */
import { expect, it } from "vitest";
import { type LabelBasis, labelStanding } from "../../core/label.ts";
import { hashJson } from "../../services/hashing/index.ts";
import { smallestSettings } from "../support/smallest.ts";

const { limits, sampling } = smallestSettings.rollout;
const made: LabelBasis = {
  ...{ task: "t1", statement: "said", policy: "p1", harness: "leaf-1", limits, sampling },
};
const standing = (change: Partial<LabelBasis>) =>
  labelStanding({ key: hashJson(made), policy: "p1" }, { ...made, ...change }, hashJson);

it("is valid for what it was made with", () => {
  expect(standing({})).toBe("valid");
});

it("is void for another policy", () => {
  expect(standing({ policy: "p2" })).toBe("void: another policy");
});

it.each([
  ["statement", { statement: "said otherwise" }],
  ["harness", { harness: "leaf-2" }],
  ["limits", { limits: { ...limits, maxTurns: limits.maxTurns + 1 } }],
  ["sampling", { sampling: { ...sampling, temperature: 0.5 } }],
  ["limits, and another policy", { policy: "p2", limits: { ...limits, maxTurns: 99 } }],
] as const)("is void for another %s", (_, change) => {
  expect(standing(change)).toBe("void: another statement, harness, limits or sampling");
});
