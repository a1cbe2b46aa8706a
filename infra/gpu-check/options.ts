/** What the GPU check is asked for, and the plan that follows. Pure. */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { packageRoot } from "../stack/paths.ts";

export interface CheckOptions {
  /** Model folder in Hugging Face's layout. */
  readonly model: string;
  /** Folder of `npm run gpu-path:install`, or one like it: `venv/bin/python` with torch and vllm. */
  readonly lane: string;
  readonly port: number;
  readonly updates: number;
  readonly dtype: "bfloat16" | "float32";
  readonly cpu: boolean;
  readonly dryRun: boolean;
}

/** Folder of the package tadpole_torch. */
export const PACKAGE = join(packageRoot, "services/trainers/torch");

/** Mean and greatest difference of log p between engine and trainer, in nats: kernels differ, weights must not. */
export const BOUNDS = {
  float32: { mean: 1e-3, max: 0.02 },
  bfloat16: { mean: 0.05, max: 1.5 },
} as const;

/** Engine and trainer share one device. */
const ENGINE_SHARE = 0.35;
export const MAX_MODEL_LEN = 512;
export const PROMPTS = 16;
export const PROMPT_TOKENS = 32;
export const SAMPLED_TOKENS = 96;
/** All of it, in seconds. */
export const limitSeconds = ({ cpu }: Pick<CheckOptions, "cpu">): number => (cpu ? 3600 : 600);

export class CheckError extends Error {
  readonly kind: "options" | "failed";
  constructor(kind: "options" | "failed", message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CheckError";
    this.kind = kind;
  }
}

/** Throws CheckError `options` naming the flag. */
export function readOptions(args: readonly string[], env: NodeJS.ProcessEnv, home: string): CheckOptions {
  let values: Record<string, string | boolean | undefined>;
  try {
    ({ values } = parseArgs({
      args: [...args],
      options: {
        model: { type: "string" },
        port: { type: "string", default: "8199" },
        updates: { type: "string", default: "2" },
        dtype: { type: "string", default: "bfloat16" },
        cpu: { type: "boolean", default: false },
        "dry-run": { type: "boolean", default: false },
      },
    }));
  } catch (error) {
    throw new CheckError("options", (error as Error).message);
  }
  const number = (name: string, least: number, most: number) => {
    const value = Number(values[name]);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw new CheckError(
      "options",
      `--${name} ${values[name]}: expected a whole number from ${least} to ${most}`,
    );
  };
  const { model, dtype } = values;
  if (typeof model !== "string" || model === "")
    throw new CheckError("options", "--model: expected the folder of a small model in Hugging Face's layout");
  if (dtype !== "bfloat16" && dtype !== "float32")
    throw new CheckError("options", `--dtype ${dtype}: expected bfloat16 or float32`);
  return {
    model,
    lane: env.TADPOLE_GPU_PATH || join(home, ".cache/tadpole/gpu-path"),
    port: number("port", 1024, 65535),
    updates: number("updates", 1, 20),
    dtype,
    cpu: values.cpu === true,
    dryRun: values["dry-run"] === true,
  };
}

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export function serverCommand({ lane, model, port, dtype, cpu }: CheckOptions): Command {
  return {
    file: join(lane, "venv/bin/vllm"),
    args: [
      ...["serve", model, "--served-model-name", "gpu-check", "--host", "127.0.0.1", "--port", String(port)],
      ...["--dtype", dtype, "--max-model-len", String(MAX_MODEL_LEN), "--max-num-seqs", String(PROMPTS)],
      // Log-probabilities of the distribution that was sampled from.
      ...["--logprobs-mode", "processed_logprobs", "--enforce-eager"],
      ...(cpu ? [] : ["--gpu-memory-utilization", String(ENGINE_SHARE)]),
    ],
    env: {
      VLLM_SERVER_DEV_MODE: "1",
      HF_HUB_OFFLINE: "1",
      DO_NOT_TRACK: "1",
      ...(cpu ? { VLLM_TARGET_DEVICE: "cpu", VLLM_CPU_KVCACHE_SPACE: "1" } : {}),
    },
  };
}

export function trainerCommand(
  { lane, dtype, cpu }: CheckOptions,
  packageFolder: string,
  args: readonly string[],
): Command {
  return {
    file: join(lane, "venv/bin/python"),
    args: ["-m", "tadpole_torch", ...args, "--dtype", dtype, ...(cpu ? ["--cpu"] : [])],
    env: { PYTHONPATH: packageFolder, HF_HUB_OFFLINE: "1", CUBLAS_WORKSPACE_CONFIG: ":4096:8" },
  };
}

export interface Agreement {
  readonly tokens: number;
  readonly mean: number;
  readonly max: number;
  readonly agrees: boolean;
}

/** Of the engine's log-probabilities with the trainer's, row by row. Throws CheckError where they are not of the same tokens. */
export function agreement(
  engine: readonly (readonly number[])[],
  trainer: readonly (readonly number[])[],
  dtype: CheckOptions["dtype"],
): Agreement {
  const differences = engine.flatMap((row, i) => {
    const other = trainer[i] ?? [];
    if (other.length !== row.length)
      throw new CheckError(
        "failed",
        `row ${i}: the engine sampled ${row.length} tokens, the trainer scored ${other.length}`,
      );
    return row.map((value, at) => Math.abs(value - other[at]!));
  });
  const max = differences.reduce((most, value) => Math.max(most, value), 0);
  const mean = differences.reduce((sum, value) => sum + value, 0) / differences.length;
  const bounds = BOUNDS[dtype];
  return { tokens: differences.length, mean, max, agrees: mean <= bounds.mean && max <= bounds.max };
}

/** What will be done, for people. */
export function planLines(options: CheckOptions, packageFolder: string): string[] {
  const line = ({ env, file, args }: Command) =>
    [...Object.entries(env).map(([name, value]) => `${name}=${value}`), file, ...args].join(" ");
  const url = `http://127.0.0.1:${options.port}`;
  const { mean, max } = BOUNDS[options.dtype];
  return [
    `1. look at the GPU, torch and vllm of ${options.lane}`,
    `2. ${line(serverCommand(options))}`,
    `3. name the start weights by ${url}/update_weight_version, and check that ${url}/weight_info says so`,
    `4. ${options.updates} times: sample ${PROMPTS} × ${SAMPLED_TOKENS} tokens at temperature 1 by token ids;`,
    `   score them: ${line(trainerCommand(options, packageFolder, ["logprobs", "--model", "MODEL", "--batch", "BATCH"]))}`,
    `   agreement: mean ≤ ${mean}, greatest ≤ ${max} nats;`,
    "   update: tadpole_torch update --parent MODEL --batch BATCH --settings SETTINGS --out OUT;",
    "   publish OUT/model: pause, flush, load, resume, verify the version, one canary completion",
    "5. sample and score once more with the last weights; end the server",
  ];
}
