/**
 * `npm run gpu-path:engine`: a real vLLM server for the CPU, with the routes that weights are published by. It serves one model, forgets its start
 * weights at the first publication, and ends with this process.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream, existsSync, mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { lane } from "./lane.ts";

export interface EngineOptions {
  readonly model: string;
  readonly port: number;
  /** File for what it prints. */
  readonly log: string;
  /** Tokens of prompt and reply. */
  readonly contextTokens?: number;
  /** Turns that it computes side by side. */
  readonly turns?: number;
}

export interface RunningEngine {
  readonly url: string;
  readonly pid: number;
  /** Resolves once it has ended. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

const START_SECONDS = 300;
const POLL_MS = 1000;

/** Of one process alone, so that its start is the same wherever it runs. */
function environment(): NodeJS.ProcessEnv {
  return {
    ...process.env,
    // Route for the weights: https://docs.vllm.ai/en/latest/usage/security/#security-and-firewalls-protecting-exposed-vllm-systems
    VLLM_SERVER_DEV_MODE: "1",
    VLLM_TARGET_DEVICE: "cpu",
    VLLM_CPU_KVCACHE_SPACE: "1",
    VLLM_NO_USAGE_STATS: "1",
    DO_NOT_TRACK: "1",
    HF_HUB_OFFLINE: "1",
  };
}

/** Resolves once it answers. Throws with the log's path where it ends before, or does not come up. */
export async function startEngine(options: EngineOptions): Promise<RunningEngine> {
  const { model, port, log, contextTokens = 1024, turns = 16 } = options;
  mkdirSync(dirname(log), { recursive: true });
  const output = createWriteStream(log, { flags: "a" });
  const child = spawn(
    lane.vllm,
    [
      ...["serve", model, "--served-model-name", "policy", "--host", "127.0.0.1", "--port", String(port)],
      ...["--enforce-eager", "--max-model-len", String(contextTokens), "--max-num-seqs", String(turns)],
      ...["--dtype", "float32", "--generation-config", "vllm"],
    ],
    { stdio: ["ignore", "pipe", "pipe"], env: environment(), detached: true },
  );
  child.stdout.pipe(output, { end: false });
  child.stderr.pipe(output, { end: false });
  const url = `http://127.0.0.1:${port}`;
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    const ended = exited(child);
    // Its workers are processes of their own.
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, signal);
    await ended;
    output.end();
  };
  const deadline = Date.now() + START_SECONDS * 1000;
  while (!(await answers(url))) {
    if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
      await stop("SIGKILL");
      throw new Error(`vLLM does not serve ${model} on port ${port}: see the end of ${log}`);
    }
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
  return { url, pid: child.pid!, stop };
}

function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((done) => child.once("exit", () => done()));
}

async function answers(url: string): Promise<boolean> {
  return fetch(`${url}/health`, { signal: AbortSignal.timeout(POLL_MS * 5) }).then(
    (response) => response.ok,
    () => false,
  );
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      model: { type: "string", default: join(lane.folder, "models", "scribe") },
      port: { type: "string", default: "8000" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log("usage: npm run gpu-path:engine [-- --model FOLDER] [--port N]");
    process.exit(0);
  }
  const model = resolve(values.model);
  for (const [path, by] of [
    [lane.vllm, "gpu-path:install -- --vllm"],
    [model, "gpu-path:model"],
  ] as const)
    if (!existsSync(path)) {
      console.error(`${path} is missing: npm run ${by} makes it`);
      process.exit(1);
    }
  const log = join(lane.folder, "logs", `engine-${values.port}.log`);
  console.log(`starting vLLM on ${model}, about a minute; log: ${log}`);
  const engine = await startEngine({ model, port: Number(values.port), log });
  console.log(`vLLM serves at ${engine.url}; Ctrl-C ends it`);
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => void engine.stop().then(() => process.exit(0)));
}
