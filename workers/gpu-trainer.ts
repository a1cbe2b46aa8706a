/** Which trainer a GPU worker has, by its environment: the embedded policy's, or a process with a queue of its own (docs/gpu-worker.md). */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { StackError, takeLock } from "../infra/stack/index.ts";
import { packageRoot } from "../infra/stack/paths.ts";
import { createProcessTrainer, findDevices, type Trainer } from "../services/trainers/index.ts";
import { trainerQueue } from "../workflows/queues.ts";
import type { WorkerProcess } from "./common.ts";

/** `torch` and `slime` make updates on their own; the stack's own worker has none of them. */
export interface TrainerChoice {
  readonly kind: "torch" | "slime";
  readonly size: string;
  readonly cpu: boolean;
  /** Whether the worker waits for its update before it ends. */
  readonly drain: boolean;
}

/** Null for the embedded policy's. Throws StackError `settings`, which names the variable. */
export function trainerChoice(env: NodeJS.ProcessEnv): TrainerChoice | null {
  const kind = env.TADPOLE_TRAINER || "nano";
  if (kind === "nano") return null;
  if (kind !== "torch" && kind !== "slime")
    throw new StackError("settings", `TADPOLE_TRAINER: expected nano, torch or slime, got "${kind}"`);
  const size = env.TADPOLE_TRAINER_SIZE || "any";
  if (!/^[a-z0-9][a-z0-9.-]*$/.test(size))
    throw new StackError(
      "settings",
      `TADPOLE_TRAINER_SIZE: expected lower-case letters, digits, dots and hyphens, as in trainer.size, got "${size}"`,
    );
  return { kind, size, cpu: env.TADPOLE_TRAINER_CPU === "1", drain: env.TADPOLE_TRAINER_DRAIN === "1" };
}

interface TrainerProgram {
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** Python with PyTorch and this checkout's package, or what TADPOLE_TRAINER_COMMAND says instead. Throws StackError `missing`. */
export function trainerProgram({ kind, cpu }: TrainerChoice, env: NodeJS.ProcessEnv): TrainerProgram {
  const own = env.TADPOLE_TRAINER_COMMAND?.trim();
  if (own) return { command: own.split(/\s+/), env };
  if (kind === "slime")
    throw new StackError(
      "missing",
      "slime jobs are experimental and have no program here: TADPOLE_TRAINER_COMMAND names one that speaks the protocol (docs/slime.md)",
    );
  const folder = env.TADPOLE_GPU_PATH || join(homedir(), ".cache/tadpole/gpu-path");
  const python = env.TADPOLE_TRAINER_PYTHON || join(folder, "venv/bin/python");
  if (!existsSync(python))
    throw new StackError(
      "missing",
      `no Python for the trainer at ${python}: npm run gpu-path:install makes one, or TADPOLE_TRAINER_PYTHON names one that has PyTorch`,
    );
  const sources = join(packageRoot, "services/trainers/torch");
  return {
    command: [python, "-m", "tadpole_torch", "serve", ...(cpu ? ["--cpu"] : [])],
    env: { ...env, PYTHONPATH: [sources, env.PYTHONPATH].filter(Boolean).join(":"), HF_HUB_OFFLINE: "1" },
  };
}

export interface OpenTrainer {
  readonly trainer: Trainer;
  readonly queue: string;
  readonly devices: readonly string[];
  close(): Promise<void>;
}

/** Throws StackError: no device and no leave to do without, no program, or another worker that has this trainer. */
export async function openTrainer(
  choice: TrainerChoice,
  { dataFolder, services }: Pick<WorkerProcess, "dataFolder" | "services">,
  env: NodeJS.ProcessEnv = process.env,
): Promise<OpenTrainer> {
  const { kind, size, cpu } = choice;
  const { devices, problem } = cpu ? { devices: [], problem: null } : await findDevices(env);
  if (problem !== null)
    throw new StackError("missing", `no NVIDIA device: ${problem}; --cpu trains on the processor`);
  const program = trainerProgram(choice, env);
  const folder = join(dataFolder, "trainers", `${kind}-${size}`);
  // Two workers would take each other's process away.
  const lock = await takeLock(folder);
  if (lock === null) throw new StackError("settings", `another worker has the trainer of ${folder}`);
  const trainer = createProcessTrainer({ kind, folder, artifacts: services.artifacts, ...program });
  return {
    trainer,
    queue: trainerQueue({ kind, size }),
    devices: devices.map(({ name }) => name),
    async close() {
      await trainer.close();
      await lock.release();
    },
  };
}
