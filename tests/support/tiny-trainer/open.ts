/** Process trainers of the smallest policy for a test file, in a folder of their own; every process ends with them. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PolicyRef } from "../../../core/policy.ts";
import { packCheckpoint } from "../../../services/checkpoints/index.ts";
import { createLocalArtifacts } from "../../../services/store/index.ts";
import { createProcessTrainer } from "../../../services/trainers/index.ts";
import { endProcess, findProcess } from "../../../services/trainers/process/session.ts";
import type { WatchdogLimits } from "../../../services/trainers/process/watchdog.ts";
import type { TrainerSession } from "../../../services/trainers/trainer.ts";
import { encodeWeights, sampleRows, startWeights } from "./policy.ts";

export const TINY_COMMAND = [process.execPath, join(import.meta.dirname, "main.ts")];

export const TINY_SESSION: TrainerSession = {
  ...{ size: "tiny", dtype: "float32", packTokens: 1024, gradientCheckpointing: false },
};

export async function openTiny() {
  const folder = await mkdtemp(join(tmpdir(), "tadpole-tiny-"));
  const artifacts = await createLocalArtifacts(join(folder, "artifacts"));
  const weights = startWeights(1);
  const model = join(folder, "start");
  await mkdir(model);
  for (const name of ["config.json", "tokenizer.json"]) await writeFile(join(model, name), "{}");
  await writeFile(join(model, "model.safetensors"), encodeWeights(weights));
  const checkpoint = await packCheckpoint(artifacts, { model, optimizer: null, step: 0 });
  const parent: PolicyRef = {
    ...{ id: `vllm-${checkpoint.sha256.slice(0, 16)}`, checkpoint, parent: null, step: 0 },
  };
  const machines = new Set<string>();
  return {
    folder,
    artifacts,
    /** Folder of the start weights. */
    model,
    parent,
    rows: sampleRows(weights, 1),
    sessionOf: (machine = "one") => join(folder, machine, "session"),
    /** `machine`: trainers of the same name share their folder, as workers of one machine do, one after the other. */
    async trainer(
      env: NodeJS.ProcessEnv = {},
      { machine = "one", watchdog }: { machine?: string; watchdog?: WatchdogLimits } = {},
    ) {
      machines.add(machine);
      const trainer = createProcessTrainer({
        ...{ kind: "torch", command: TINY_COMMAND, folder: join(folder, machine), artifacts },
        env: { ...process.env, ...env },
        ...(watchdog ? { watchdog } : {}),
      });
      await trainer.open!(TINY_SESSION);
      return trainer;
    },
    async close() {
      for (const machine of machines) {
        const left = await findProcess(join(folder, machine, "session"));
        if (left !== null) await endProcess(left);
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export type Tiny = Awaited<ReturnType<typeof openTiny>>;
