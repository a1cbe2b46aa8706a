/** Memory of a process that holds Docker sandboxes: with many of them against none, and while a command prints without end. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { MEMORY_FLAGS } from "../infra/stack/processes.ts";
import { createDockerRuntime, type SandboxSpec } from "../services/sandbox/index.ts";
import { type BenchContext, type Measure, measure, temporaryFolder } from "./bench.ts";
import type { Answer, Question } from "./sandbox-worker.ts";

const SANDBOXES = 128;
const QUICK_SANDBOXES = 16;
const OUTPUT_BYTES = 1e9;
const KEPT_BYTES = 2 ** 20;
/** What that output may cost. */
const OUTPUT_LIMIT_BYTES = 20e6;

export async function sandboxMemory(context: BenchContext, spec: SandboxSpec): Promise<Measure[]> {
  const ask = await startWorker(context, spec);
  const count = context.quick ? QUICK_SANDBOXES : SANDBOXES;
  // The code that a first sandbox loads is there once, however many follow.
  const { resident: before } = await ask({ ask: "live", count: 1 });
  const { peak, kept } = await ask({ ask: "output", bytes: OUTPUT_BYTES, keep: KEPT_BYTES });
  if (kept !== KEPT_BYTES) throw new Error(`${kept} bytes of output were kept; expected ${KEPT_BYTES}`);
  const none = await ask({ ask: "end" });
  const { resident: many } = await ask({ ask: "live", count });
  const each = (many - none.resident) / count;
  context.progress(`${count} live sandboxes: ${Math.round(each / 1000)} kB each`);
  await ask({ ask: "end" });
  return [
    measure({
      name: `docker, worker with ${count} live sandboxes, of itself with none`,
      value: many / 1e6,
      unit: "MB",
      reference: none.resident / 1e6,
      better: "lower",
      goal: null,
    }),
    measure({
      name: "docker, memory for 1 GB of output, of what it may be",
      value: Math.max(0, peak - before) / 1e6,
      unit: "MB",
      reference: OUTPUT_LIMIT_BYTES / 1e6,
      better: "lower",
      goal: 1,
    }),
  ];
}

/** Returns what puts a question to it. */
async function startWorker(
  context: BenchContext,
  spec: SandboxSpec,
): Promise<(question: Question) => Promise<Answer>> {
  const root = join(await temporaryFolder(context), "sandboxes");
  const child = fork(join(import.meta.dirname, "sandbox-worker.ts"), [root, JSON.stringify(spec)], {
    execArgv: [...MEMORY_FLAGS, "--expose-gc"],
    env: { ...process.env, MALLOC_ARENA_MAX: "2" },
  });
  const ended = new AbortController();
  child.once("exit", (code) => ended.abort(new Error(`the worker that holds sandboxes ended with ${code}`)));
  const reply = async () => {
    try {
      return (await once(child, "message", { signal: ended.signal }))[0];
    } catch (error) {
      throw ended.signal.aborted ? ended.signal.reason : error;
    }
  };
  await reply();
  const ask = (question: Question): Promise<Answer> => {
    child.send(question);
    return reply();
  };
  context.defer(async () => {
    child.kill();
    // Nothing, unless it was stopped half-way.
    const runtime = createDockerRuntime({ root, nodePath: process.execPath });
    await runtime.reap({ now: Number.MAX_VALUE });
  });
  return ask;
}
