import { describe, expect, it } from "vitest";
import { checkEnvironments, loadExperiment } from "../../apps/control/index.ts";

async function checked(train: readonly string[], set: readonly string[] = []): Promise<unknown> {
  const { settings } = await loadExperiment("quickstart", { set });
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

describe("tasks of commits", () => {
  const mix = ["synthesis.mix.mutation=0.5", "synthesis.mix.combination=0", "synthesis.mix.removal=0"];

  it("are refused when no environment is a commit of a git repository", async () => {
    const found = await checked(["minimist", "qs"], [...mix, "synthesis.mix.history=0.5"]);
    expect(found).toMatchObject({
      kind: "impossible-value",
      field: "synthesis.mix.history",
      message: expect.stringContaining("0.5 with environments.train minimist, qs"),
      expected: expect.stringContaining("tadpole env add git:"),
    });
  });

  it("are refused from the iteration on in which they are asked for", async () => {
    const overrides = JSON.stringify([
      { fromIteration: 2, mix: { mutation: 0.5, combination: 0, removal: 0, history: 0.5 } },
    ]);
    expect(await checked(["minimist"], [`overrides=${overrides}`])).toMatchObject({
      field: "overrides.0.mix.history",
    });
  });
});
