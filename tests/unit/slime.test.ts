/** slime jobs: their command lines against golden files, each trap as a test, and the Python shim against slime's structures. */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../infra/stack/paths.ts";
import { encodeBatch } from "../../services/trainers/index.ts";
import {
  acknowledge,
  nextUpdate,
  type SlimeJob,
  type SlimeMode,
  slimeArguments,
  trainedThrough,
} from "../../services/trainers/slime/index.ts";
import { sampleRows, startWeights } from "../support/tiny-trainer/policy.ts";

const job: SlimeJob = {
  ...{ model: "/models/qwen", checkpoints: "/data/slime/it-1", rows: 256, packTokens: 65_536, gpus: 2 },
  loss: { kind: "ratio-clip", threshold: 0.2, clipLow: 0.2, clipHigh: 0.28, ratioLow: 0.8, ratioHigh: 1.3 },
  optimizer: {
    ...{ learningRate: 1e-6, beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weightDecay: 0.1, clipNorm: 1 },
  },
  megatron: ["--tensor-model-parallel-size", "2"],
};
const resident: SlimeMode = {
  kind: "resident",
  updates: 200,
  engines: ["http://engine-1:30000", "http://engine-2:30000"],
};
const oneShot = (update: number): SlimeMode => ({
  ...{ kind: "one-shot", update, batches: "/data/slime/batches", out: "/data/slime/out/{rollout_id}" },
});

/** One argument and its values per line. */
const lines = (args: readonly string[]) => `${args.join("\n").replace(/\n(?!--)/g, " ")}\n`;
const golden = (name: string) => readFileSync(join(packageRoot, `tests/golden/slime/${name}.txt`), "utf8");

/** Values of an argument; null where it is not there. */
function valuesOf(args: readonly string[], name: string): readonly string[] | null {
  const at = args.indexOf(name);
  if (at < 0) return null;
  const rest = args.slice(at + 1);
  const end = rest.findIndex((each) => each.startsWith("--"));
  return end < 0 ? rest : rest.slice(0, end);
}

describe("the command line of a slime job", () => {
  it.each([
    ["resident-first", resident, null],
    ["resident-again", resident, 41],
    ["one-shot-first", oneShot(0), null],
    ["one-shot-next", oneShot(42), 41],
  ] as const)("is that of tests/golden/slime: %s", (name, mode, trained) => {
    expect(lines(slimeArguments(job, mode, trained))).toBe(golden(name));
  });

  it("ends at a number counted from the first update ever, above the one to make", () => {
    const end = (mode: SlimeMode, trained: number | null) =>
      Number(valuesOf(slimeArguments(job, mode, trained), "--num-rollout")![0]);
    expect(end(resident, null)).toBe(200);
    expect(end(resident, 41)).toBe(242);
    for (const trained of [null, 0, 41]) {
      const next = nextUpdate(trained);
      expect(end(oneShot(next), trained)).toBeGreaterThan(next);
    }
  });

  it("is refused where it would train nothing, or another update", () => {
    expect(() => slimeArguments(job, { ...resident, updates: 0 }, 3)).toThrow(/at least one update/);
    for (const update of [41, 43])
      expect(() => slimeArguments(job, oneShot(update), 41)).toThrow(/would make update 42/);
  });

  it("leaves advantages to us", () => {
    const args = slimeArguments(job, resident, null);
    expect(args).toContain("--disable-rewards-normalization");
    expect(args).not.toContain("--normalize-advantages");
  });

  it("asks for exactly the rows of a batch in one step, and never for none", () => {
    const args = slimeArguments(job, resident, null);
    for (const name of ["--rollout-batch-size", "--global-batch-size"])
      expect(valuesOf(args, name)).toEqual(["256"]);
    for (const name of ["--n-samples-per-prompt", "--num-steps-per-rollout"])
      expect(valuesOf(args, name)).toEqual(["1"]);
    expect(() => slimeArguments({ ...job, rows: 0 }, resident, null)).toThrow(/fails without any/);
  });

  it("saves every update, and may change the length of the schedule", () => {
    const args = slimeArguments(job, resident, 41);
    expect(valuesOf(args, "--save-interval")).toEqual(["1"]);
    expect(valuesOf(args, "--save")).toEqual(valuesOf(args, "--load"));
    expect(args).toContain("--override-opt-param-scheduler");
    expect(valuesOf(args, "--lr-decay-style")).toEqual(["constant"]);
  });

  it("begins with the model's weights and a fresh optimizer where it has no checkpoint yet", () => {
    expect(valuesOf(slimeArguments(job, resident, null), "--load")).toEqual([job.model]);
  });

  it("uses the log-probabilities of sampling, as a mean over tokens", () => {
    const args = slimeArguments(job, resident, null);
    expect(args).toContain("--use-rollout-logprobs");
    expect(args).toContain("--calculate-per-token-loss");
  });

  it("is refused for a loss that slime does not have", () => {
    const other = { ...job, loss: { ...job.loss, kind: "dppo-tv" as const } };
    expect(() => slimeArguments(other, resident, null)).toThrow(/expected ratio-clip/);
  });
});

describe("what a slime job has trained", () => {
  it("is read from Megatron's marker", () => {
    expect(trainedThrough("41\n")).toBe(41);
    expect(trainedThrough("0")).toBe(0);
    for (const text of [null, "", "release", "4 1", "-1"]) expect(trainedThrough(text)).toBeNull();
  });

  it.each([
    [42, 41, 42, "done"],
    [0, null, 0, "done"],
    [42, 41, 41, "retrain"],
    [42, 41, null, "retrain"],
    // It was there before the job began: this job trained nothing.
    [42, 42, 42, "retrain"],
  ] as const)("update %s, marker %s before and %s after: %s", (update, before, after, outcome) => {
    expect(acknowledge(update, before, after)).toBe(outcome);
  });
});

const slime = join(packageRoot, "services/trainers/slime");

it("nothing of ours ends processes by their names, as slime's own scripts do", () => {
  const files = readdirSync(slime, { recursive: true, encoding: "utf8" }).filter((file) =>
    /\.(ts|py|sh)$/.test(file),
  );
  expect(files).toContain("arguments.ts");
  for (const file of files)
    expect(readFileSync(join(slime, file), "utf8")).not.toMatch(/pkill|killall|ray stop/);
});

it("the shim keeps slime's contract", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tadpole-slime-"));
  const installed = join(
    process.env.TADPOLE_GPU_PATH ?? join(homedir(), ".cache/tadpole/gpu-path"),
    "venv/bin/python",
  );
  // With pyarrow the shim reads a batch of ours, too.
  const python = existsSync(installed) ? installed : "python3";
  try {
    const batch = join(folder, "batch.arrow");
    writeFileSync(batch, encodeBatch(sampleRows(startWeights(1), 1)));
    const { stderr } = await promisify(execFile)(python, ["-B", "-m", "unittest", "tests/test_shim.py"], {
      cwd: join(slime, "shim"),
      env: { ...process.env, TADPOLE_BATCH: batch },
    });
    expect(stderr).toMatch(/^Ran 15 tests/m);
    expect(stderr).toMatch(/^OK/m);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
