/** The experiment of five types on one package: a scripted author writes a task of each, every gate judges them, a stand-in shows them admitted. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { TASK_TYPES } from "../../core/task.ts";
import { packageRoot } from "../../infra/stack/index.ts";
import { openCli } from "../support/cli.ts";
import { type ScriptedAuthor, startScriptedAuthor } from "../support/scripted-author/server.ts";

const cli = openCli();
let author: ScriptedAuthor;

beforeAll(async () => {
  author = await startScriptedAuthor({ personality: "good" });
});
afterAll(async () => {
  await author?.close();
  await cli.close();
});

it("fills a pool with one valid task of each type", { timeout: 600_000 }, async () => {
  // The first five draws of this seed ask for five types, the one that takes longest first; the author knows one task of each.
  const settings = [
    "seed=14",
    "environments.train=[roman]",
    "synthesis.poolTasks=5",
    "synthesis.maxCandidates=8",
    "synthesis.stabilityRuns=1",
    `synthesis.author.baseUrl=${author.url}/v1`,
  ].flatMap((setting) => ["--set", setting]);
  const experiment = join(packageRoot, "experiments/five-types.yaml");
  expect(await cli.json("run", experiment, "--name", "five", ...settings)).toMatchObject({ status: "done" });

  const { pools } = await cli.json("pool", "five");
  expect(pools[0].policy).toMatch(/^stand-in-/);
  expect(pools[0].types).toEqual(Object.fromEntries(TASK_TYPES.map((type) => [type, 1])));

  const { items } = await cli.json("task", "list", "--experiment", "five", "--outcome", "admitted");
  expect(items).toHaveLength(5);
  for (const { id, type, generator } of items) {
    expect(generator).toBe("llm");
    const { validations } = await cli.json("task", "show", id);
    const asked = validations[0].gates.map(({ gate }: { gate: string }) => gate);
    expect(validations[0].gates.filter(({ passed }: { passed: boolean }) => !passed)).toEqual([]);
    expect(asked).toEqual(expect.arrayContaining(["gold", "wrong-solution", "alternative", "determined"]));
    // A bug needs to show no more than that.
    expect(asked.includes("type")).toBe(type !== "bug");
  }
});
