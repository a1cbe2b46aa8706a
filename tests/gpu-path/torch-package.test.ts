/** The torch package as those use it who use it alone: its own tests, its linter's rules, its command line. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { encodeBatch } from "../../services/trainers/index.ts";
import { makeTinyModel, python } from "../support/gpu-path.ts";

const folder = mkdtempSync(join(tmpdir(), "tadpole-torch-package-"));
const file = (name: string) => join(folder, name);
const cli = (...args: string[]) => python(["-m", "tadpole_torch", ...args, "--cpu", "--threads", "1"]);

beforeAll(async () => {
  await makeTinyModel(file("model"));
  const row = { group: "g", reward: 1, raw: 1, trainable: [0, 1, 1, 1], logProbs: [0, -5, -5, -5] } as const;
  const rows = [
    { ...row, rollout: "a", advantage: 1, tokens: [1, 2, 3, 4] },
    { ...row, rollout: "b", advantage: -1, tokens: [1, 5, 6, 7] },
  ];
  writeFileSync(file("batch.arrow"), encodeBatch(rows));
  writeFileSync(
    file("settings.json"),
    JSON.stringify({ loss: { kind: "two-sided" }, optimizer: { learningRate: 0.01 } }),
  );
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the torch package", () => {
  it("passes its own tests", async () => {
    const { code, stdout } = await python(["-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]);
    expect(code, stdout).toBe(0);
    expect(stdout).toMatch(/\d{2} passed/);
  });

  it("keeps its linter's rules", async () => {
    const places = ["--no-cache", "--config", "pyproject.toml", ".", join(import.meta.dirname, "python")];
    for (const command of [["check"], ["format", "--check"]]) {
      const { code, stdout } = await python(["-m", "ruff", ...command, ...places]);
      expect(code, stdout).toBe(0);
    }
  });

  it("updates, warms up and scores from the command line", async () => {
    const batch = ["--batch", file("batch.arrow")];
    const scored = await cli("logprobs", "--model", file("model"), ...batch);
    const [a, b, agreement] = scored.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect([a.rollout, a.logprobs.length, b.rollout, b.logprobs.length]).toEqual(["a", 3, "b", 3]);
    const differences = [...a.logprobs, ...b.logprobs].map((value: number) => Math.abs(value + 5));
    expect(agreement.tokens).toBe(6);
    expect(agreement.maxDifference).toBeCloseTo(Math.max(...differences), 6);

    const options = ["--parent", file("model"), ...batch, "--settings", file("settings.json")];
    const made = await cli("update", ...options, "--out", file("updated"));
    expect(JSON.parse(made.stdout)).toEqual(
      JSON.parse(readFileSync(file("updated/checkpoint.json"), "utf8")),
    );

    const warmed = await cli(
      "warmup",
      "--parent",
      file("model"),
      ...batch,
      "--epochs",
      "2",
      "--out",
      file("warm"),
    );
    const epochs = warmed.stdout
      .trim()
      .split("\n")
      .slice(0, 2)
      .map((line) => JSON.parse(line));
    expect(epochs[1].loss).toBeLessThan(epochs[0].loss);
    expect(readdirSync(file("warm/model"))).toEqual(readdirSync(file("updated/model")));
  });

  it("says in one line what is wrong", async () => {
    const { code, stderr } = await cli("logprobs", "--model", file("gone"), "--batch", file("batch.arrow"));
    expect(code).toBe(1);
    expect(stderr.trim().split("\n").at(-1)).toBe(
      `tadpole_torch: model: ${file("gone")}: no such folder, expected a model in Hugging Face's layout`,
    );
  });
});
