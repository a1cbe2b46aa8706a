/** The GPU check itself: a server, a trainer, updates between them (`main.ts`). */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createWriteStream, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { random } from "../../core/random.ts";
import { createDriver } from "../../services/policy/index.ts";
import { createVllmEngine } from "../../services/policy/vllm.ts";
import { type BatchRow, encodeBatch } from "../../services/trainers/index.ts";
import {
  type Agreement,
  agreement,
  CheckError,
  type CheckOptions,
  type Command,
  limitSeconds,
  PACKAGE,
  PROMPT_TOKENS,
  PROMPTS,
  SAMPLED_TOKENS,
  serverCommand,
  trainerCommand,
} from "./options.ts";

const execute = promisify(execFile);
const SETTINGS = {
  loss: { kind: "dppo-tv", threshold: 0.2 },
  // Large enough that the next samples come from other weights.
  optimizer: { learningRate: 1e-5, beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weightDecay: 0.1, clipNorm: 1 },
};

/** As a policy's id is: `vllm-` and 16 hex digits. */
const versionName = (update: number) => `vllm-${update.toString(16).padStart(16, "0")}`;

const started = performance.now();
function say(text: string): void {
  console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(4)} s  ${text}`);
}

/** Seconds that all of it may take; set by the options. */
let limit = 0;

async function run({ file, args, env }: Command): Promise<string> {
  const left = Math.floor(limit * 1000 - (performance.now() - started));
  const options = {
    env: { ...process.env, ...env },
    cwd: PACKAGE,
    timeout: Math.max(1, left),
    maxBuffer: 1 << 28,
  };
  try {
    return (await execute(file, [...args], options)).stdout;
  } catch (error) {
    const last = String((error as { stderr?: string }).stderr ?? "")
      .trim()
      .split("\n")
      .slice(-8)
      .join("\n");
    throw new CheckError("failed", `${file} ${args.slice(0, 3).join(" ")}: ${last || error}`, {
      cause: error,
    });
  }
}

async function look({ lane, cpu, model }: CheckOptions): Promise<void> {
  if (!cpu) {
    const gpu = await run({
      file: "nvidia-smi",
      args: ["--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"],
      env: {},
    });
    say(`GPU: ${gpu.trim()}`);
  }
  const script =
    "import torch, transformers, vllm; print(torch.__version__, transformers.__version__, vllm.__version__, torch.cuda.is_available())";
  const python = { file: join(lane, "venv/bin/python"), args: ["-c", script], env: {} };
  const [torch, transformers, vllm, cuda] = (await run(python)).trim().split("\n").at(-1)!.split(" ");
  say(`torch ${torch}, transformers ${transformers}, vllm ${vllm}`);
  if (!cpu && cuda !== "True")
    throw new CheckError(
      "failed",
      `torch ${torch} sees no CUDA device: its wheel must be one for this driver`,
    );
  if (!existsSync(join(model, "config.json")))
    throw new CheckError("options", `--model ${model}: there is no config.json`);
}

async function startServer(options: CheckOptions, log: string): Promise<ChildProcess> {
  const { file, args, env } = serverCommand(options);
  // A group of its own: its engine is a process of its own, too.
  const server = spawn(file, [...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const output = createWriteStream(log);
  server.stdout.pipe(output);
  server.stderr.pipe(output);
  let ended: string | null = null;
  server.once("error", (error) => {
    ended = error.message;
  });
  server.once("exit", (code, signal) => {
    ended = `exit ${code ?? signal}`;
  });
  const seconds = limit / 2;
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    const up = await fetch(`http://127.0.0.1:${options.port}/health`).then(
      (reply) => reply.ok,
      () => false,
    );
    if (up) return server;
    if (ended !== null || performance.now() > deadline) {
      stop(server);
      const last = lastLines(log);
      throw new CheckError("failed", `vllm does not serve (${ended ?? `not within ${seconds} s`}):\n${last}`);
    }
    await sleep(1000);
  }
}

function lastLines(log: string): string {
  return readFileSync(log, "utf8").trim().split("\n").slice(-20).join("\n");
}

function stop({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

/** Rows as a climb has them; half of them are to become likelier, the other half less likely. */
async function sample(options: CheckOptions, version: string, round: number): Promise<BatchRow[]> {
  const { vocab_size: vocabulary } = JSON.parse(readFileSync(join(options.model, "config.json"), "utf8"));
  const engine = createVllmEngine({ url: `http://127.0.0.1:${options.port}`, timeoutSeconds: 120 });
  return Promise.all(
    Array.from({ length: PROMPTS }, async (_, index): Promise<BatchRow> => {
      const stream = random(round, "gpu-check", String(index));
      const prompt = Array.from({ length: PROMPT_TOKENS }, () =>
        stream.integer(Math.min(vocabulary, 32_000)),
      );
      const { tokens, logProbs } = await engine.complete({
        policy: version,
        prompt,
        maxTokens: SAMPLED_TOKENS,
        sampling: { temperature: 1, topP: 1, topK: 0, minP: 0 },
        seed: index,
      });
      const raw = (index % 2) as 0 | 1;
      return {
        group: `gpu-check/${round}`,
        rollout: `gpu-check/${round}/${index}`,
        advantage: 2 * raw - 1,
        reward: raw,
        raw,
        tokens: [...prompt, ...tokens],
        trainable: [...prompt.map(() => 0 as const), ...tokens.map(() => 1 as const)],
        logProbs: [...prompt.map(() => 0), ...logProbs],
      };
    }),
  );
}

async function score(
  options: CheckOptions,
  model: string,
  batch: string,
  rows: readonly BatchRow[],
): Promise<Agreement> {
  const output = await run(
    trainerCommand(options, PACKAGE, ["logprobs", "--model", model, "--batch", batch]),
  );
  const lines = output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { rollout?: string; logprobs?: number[] });
  const scored = new Map(lines.map(({ rollout, logprobs }) => [rollout, logprobs ?? []]));
  const sampled = rows.map(({ logProbs, trainable }) => [...logProbs].filter((_, i) => trainable[i] === 1));
  return agreement(
    sampled,
    rows.map(({ rollout }) => scored.get(rollout) ?? []),
    options.dtype,
  );
}

/** Whether all of it holds. Throws CheckError, or what a request to the engine throws. */
export async function check(options: CheckOptions): Promise<boolean> {
  limit = limitSeconds(options);
  const folder = mkdtempSync(join(tmpdir(), "tadpole-gpu-check-"));
  try {
    const good = await checkIn(folder, options);
    const inTime = (performance.now() - started) / 1000 <= limit;
    const late = inTime ? "" : `, but took longer than ${limit} s`;
    say(good ? `all of it holds${late}` : "log-probabilities do not agree");
    return good && inTime;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function checkIn(folder: string, options: CheckOptions): Promise<boolean> {
  await look(options);
  const log = join(folder, "vllm.log");
  const server = await startServer(options, log);
  try {
    for (const signal of ["SIGINT", "SIGTERM"] as const)
      process.once(signal, () => {
        stop(server);
        process.exit(1);
      });
    say("vllm serves");
    const driver = createDriver("vllm", {
      url: `http://127.0.0.1:${options.port}`,
      apiKeyEnv: null,
      onPublish: "finish",
    });
    const settings = join(folder, "settings.json");
    writeFileSync(settings, JSON.stringify(SETTINGS));
    const publish = async (version: string, model: string) => {
      await driver.pause();
      await driver.flush();
      await driver.load(version, model);
      await driver.resume();
      const served = await driver.version();
      if (served !== version)
        throw new CheckError("failed", `the engine serves ${served}: expected ${version}`);
      await driver.canary(version);
      say(`${version} is published and verified`);
    };
    let model = options.model;
    let optimizer: string | null = null;
    let good = true;
    await publish(versionName(0), model);
    for (let update = 0; update <= options.updates; update++) {
      const rows = await sample(options, versionName(update), update);
      const batch = join(folder, `batch-${update}.arrow`);
      writeFileSync(batch, encodeBatch(rows));
      const { tokens, mean, max, agrees } = await score(options, model, batch, rows);
      good &&= agrees;
      say(
        `${agrees ? "✓" : "✗"} ${versionName(update)}: ${tokens} tokens, log p of engine and trainer differ by ${mean.toExponential(2)} on average, ${max.toExponential(2)} at most`,
      );
      if (update === options.updates) break;
      const out = join(folder, `update-${update + 1}`);
      const state = optimizer === null ? [] : ["--optimizer", optimizer];
      await run(
        trainerCommand(options, PACKAGE, [
          "update",
          "--parent",
          model,
          ...state,
          "--batch",
          batch,
          "--settings",
          settings,
          "--out",
          out,
        ]),
      );
      const { metrics } = JSON.parse(readFileSync(join(out, "checkpoint.json"), "utf8"));
      say(
        `update ${update + 1}: loss ${metrics.loss}, gradient ${metrics.gradientNorm}, ${metrics.droppedTokens} of ${metrics.trainableTokens} tokens masked`,
      );
      model = join(out, "model");
      optimizer = join(out, "optimizer");
      await publish(versionName(update + 1), model);
    }
    return good;
  } catch (error) {
    if (error instanceof CheckError) throw error;
    const { message } = error as Error;
    throw new CheckError("failed", `${message}\nvllm's last lines:\n${lastLines(log)}`, { cause: error });
  } finally {
    stop(server);
  }
}
