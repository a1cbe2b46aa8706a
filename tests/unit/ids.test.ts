import { describe, expect, it } from "vitest";
import { evaluationId, experimentId, experimentOf, tryId } from "../../core/ids.ts";

describe("workflow ids", () => {
  const scope = { experiment: "a", iteration: 1, try: 2 };
  const measured = { policy: "nano-1", set: "exp", mode: "sampled" };

  it("name what they are about", () => {
    expect(experimentId("a")).toBe("exp/a");
    expect(tryId(scope)).toBe("exp/a/it/1/try/2");
    expect(evaluationId(measured, tryId(scope))).toBe("eval/nano-1/exp/sampled/exp/a/it/1/try/2");
  });

  it.each([
    experimentId("a"),
    tryId(scope),
    `${tryId(scope)}/climb`,
    evaluationId(measured, experimentId("a")),
    evaluationId(measured, tryId(scope)),
    `${evaluationId(measured, experimentId("a"))}/nightly-20260101T000000Z`,
  ])("%s belongs to its experiment", (id) => expect(experimentOf(id)).toBe("a"));

  it.each(["schedule/nightly", "eval/nano-1/exp/sampled", "", "my/exp/a"])("%s belongs to none", (id) =>
    expect(experimentOf(id)).toBeNull(),
  );
});
