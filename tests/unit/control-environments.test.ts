import { describe, expect, it } from "vitest";
import { checkEnvironments, loadExperiment } from "../../apps/control/index.ts";

async function checked(train: readonly string[]): Promise<unknown> {
  const { settings } = await loadExperiment("quickstart", { set: [] });
  const changed = { ...settings, environments: { ...settings.environments, train: [...train] } };
  return checkEnvironments(changed, "x.yaml").catch((error: unknown) => error);
}

describe("environments that an experiment names", () => {
  it("are of the catalogue and made for tasks", async () => {
    expect(await checked(["minimist", "qs"])).toBeUndefined();
  });

  it.each([
    ["no environment", "left-pad"],
    ["what start policies are made from", "ent"],
    ["of a language that no generator reads", "isodate"],
    ["without assertions of tape", "roman-numerals"],
  ])("are refused when one is %s", async (_, name) => {
    expect(await checked(["minimist", name])).toMatchObject({
      kind: "impossible-value",
      field: "environments.train",
      message: expect.stringContaining(name),
      expected: expect.stringContaining("whose tests use tape: minimist, shell-quote"),
    });
  });
});
