/** The torch trainer behind the worker's side of the protocol meets the contract of trainers, on rows that its own model gave their log-probabilities. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { policyId } from "../../core/policy.ts";
import { packCheckpoint } from "../../services/checkpoints/index.ts";
import { createLocalArtifacts } from "../../services/store/index.ts";
import { type BatchRow, createProcessTrainer, encodeBatch } from "../../services/trainers/index.ts";
import { endProcess, findProcess } from "../../services/trainers/process/session.ts";
import type { TrainerSession } from "../../services/trainers/trainer.ts";
import { trainerContract } from "../contract/trainer.ts";
import { gpuPathEnv, gpuPathPython, makeTinyModel, python } from "../support/gpu-path.ts";

const SESSION: TrainerSession = {
  ...{ size: "tiny", packTokens: 4096, gradientCheckpointing: false },
  dtype: "float32",
};

const folder = mkdtempSync(join(tmpdir(), "tadpole-torch-trainer-"));
const model = join(folder, "model");
let rows: readonly BatchRow[];

/** Two groups of two rollouts; each is a prompt of four tokens and twelve samples. */
function unscored(): BatchRow[] {
  return [0, 1, 2, 3].map((member) => ({
    ...{ group: `group-${member >> 1}`, rollout: `rollout-${member}` },
    ...{ advantage: member % 2 === 0 ? 1 : -1, reward: 1 - (member % 2), raw: member % 2 === 0 ? 1 : 0 },
    tokens: Array.from({ length: 16 }, (_, at) => (member * 53 + at * 29) % 256),
    trainable: Array.from({ length: 16 }, (_, at) => (at < 4 ? 0 : 1)),
    logProbs: Array.from({ length: 16 }, () => 0),
  }));
}

beforeAll(async () => {
  await makeTinyModel(model);
  const batch = join(folder, "unscored.arrow");
  writeFileSync(batch, encodeBatch(unscored()));
  const flags = ["--dtype", SESSION.dtype, "--pack-tokens", String(SESSION.packTokens), "--cpu"];
  const scored = await python([
    "-m",
    "tadpole_torch",
    "logprobs",
    "--model",
    model,
    "--batch",
    batch,
    ...flags,
  ]);
  if (scored.code !== 0) throw new Error(scored.stderr);
  const byRow = new Map<number, readonly number[]>();
  for (const line of scored.stdout.trim().split("\n")) {
    const { row, logprobs } = JSON.parse(line) as { row?: number; logprobs?: readonly number[] };
    if (row !== undefined) byRow.set(row, logprobs!);
  }
  rows = unscored().map((row, index) => ({
    ...row,
    logProbs: [...row.tokens.slice(0, 4).map(() => 0), ...byRow.get(index)!],
  }));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

trainerContract("torch", async () => {
  const place = mkdtempSync(join(folder, "case-"));
  const artifacts = await createLocalArtifacts(join(place, "artifacts"));
  const checkpoint = await packCheckpoint(artifacts, { model, optimizer: null, step: 0 });
  const machines = ["one", "another"].map((name) => join(place, name));
  const trainerOn = async (machine: string) => {
    const command = [gpuPathPython, "-m", "tadpole_torch", "serve", "--cpu", "--threads", "1"];
    const trainer = createProcessTrainer({
      kind: "torch",
      command,
      folder: machine,
      artifacts,
      env: gpuPathEnv,
    });
    await trainer.open!(SESSION);
    return trainer;
  };
  return {
    trainer: await trainerOn(machines[0]!),
    another: () => trainerOn(machines[1]!),
    artifacts,
    parent: { id: policyId("vllm", checkpoint.sha256), checkpoint, parent: null, step: 0 },
    rows,
    async close() {
      for (const machine of machines) {
        const left = await findProcess(join(machine, "session"));
        if (left !== null) await endProcess(left);
      }
    },
  };
});
