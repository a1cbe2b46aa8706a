/** What `tadpole doctor` looks at for real models: this machine's GPUs and Python, the engines of an experiment, the workers of its trainer. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ExperimentSettings } from "../../core/experiment.ts";
import { isEngineKind } from "../../core/policy.ts";
import { connectTemporal, type TemporalSettings } from "../../infra/stack/index.ts";
import { createDriver } from "../../services/policy/index.ts";
import { trainerQueue } from "../../workflows/queues.ts";

const execute = promisify(execFile);

/** Each resolves with what it found and throws an Error that says what is missing and how to get it. */
export type Look = () => Promise<string> | string;
export type NamedLook = readonly [name: string, look: Look];

/** Importing torch takes long on a cold disk. */
const PYTHON_MS = 120_000;
const ENGINE_SECONDS = 10;

export async function gpus(): Promise<string> {
  const listed = await execute("nvidia-smi", ["--query-gpu=name,memory.total", "--format=csv,noheader"], {
    timeout: 30_000,
  }).catch(() => null);
  const names = listed?.stdout.trim().split("\n").filter(Boolean) ?? [];
  if (names.length > 0) return names.join("; ");
  throw new Error(
    "no NVIDIA GPU answers nvidia-smi: real models are trained elsewhere, or with tadpole worker gpu --cpu; the embedded policy needs none",
  );
}

/** The environment of `npm run gpu-path:install`. */
export async function pythonLane(env: NodeJS.ProcessEnv): Promise<string> {
  const folder = env.TADPOLE_GPU_PATH || join(env.HOME || homedir(), ".cache/tadpole/gpu-path");
  const python = join(folder, "venv/bin/python");
  const mend = "npm run gpu-path:install makes it; only a torch trainer on this machine needs it";
  if (!existsSync(join(folder, "installed.json")) || !existsSync(python))
    throw new Error(`no Python environment with torch in ${folder} (TADPOLE_GPU_PATH): ${mend}`);
  const script = "import torch; print(torch.__version__, torch.cuda.device_count())";
  const { stdout } = await execute(python, ["-c", script], { timeout: PYTHON_MS }).catch((error) => {
    const last = String(error.stderr ?? error.message)
      .trim()
      .split("\n")
      .at(-1);
    throw new Error(`${python} cannot import torch (${last}): remove ${folder}, then ${mend}`);
  });
  const [version, devices] = stdout.trim().split(" ");
  return `torch ${version}, ${devices === "0" ? "no CUDA device" : `${devices} CUDA devices`}, ${folder}`;
}

/** What an experiment needs beside the stack. `temporal`: where its workers would be seen; null = there is none yet. */
export function experimentLooks(
  settings: ExperimentSettings,
  temporal: TemporalSettings | null,
  env: NodeJS.ProcessEnv,
): NamedLook[] {
  const { kind, engines, apiKeyEnv } = settings.policy;
  const looks: NamedLook[] = [];
  for (const name of [apiKeyEnv, settings.synthesis.author?.apiKeyEnv ?? null])
    if (name !== null)
      looks.push([
        name,
        () => {
          if (env[name]) return "is set";
          throw new Error(
            `is not set: the experiment takes a key from it; set it where the workers run, too`,
          );
        },
      ]);
  if (isEngineKind(kind) && engines !== null)
    for (const url of engines.urls)
      looks.push([
        "engine",
        async () => {
          const { onPublish } = engines;
          const limits = { question: ENGINE_SECONDS };
          const version = await createDriver(kind, { url, apiKeyEnv, onPublish, limits }).version();
          return `${url}, ${kind}, serves ${version ?? "weights without a name: a publication names them"}`;
        },
      ]);
  if (settings.trainer.kind !== "nano") looks.push(["gpu workers", () => pollers(settings, temporal)]);
  return looks;
}

async function pollers({ trainer }: ExperimentSettings, temporal: TemporalSettings | null): Promise<string> {
  const queue = trainerQueue(trainer);
  const mend = `on a machine that can hold the model: tadpole worker gpu --trainer ${trainer.kind} --size ${trainer.size}`;
  if (temporal === null)
    throw new Error(`nobody serves ${queue}, since no stack runs: tadpole up, then ${mend}`);
  const { client, connection, namespace } = await connectTemporal(temporal);
  try {
    const { pollers = [] } = await client.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name: queue },
      // TASK_QUEUE_TYPE_ACTIVITY
      taskQueueType: 2,
    });
    const names = [...new Set((pollers ?? []).map(({ identity }) => identity))];
    if (names.length > 0) return `${queue}: ${names.join(", ")}`;
    throw new Error(`nobody serves ${queue}: ${mend}`);
  } finally {
    await connection.close();
  }
}
