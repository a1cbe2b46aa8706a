/** mini-swe-agent's docker environment (PyPI), which runs each command by a new `docker exec` of Docker's command line. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { cacheFolder, makeVenv, pythons } from "../../tests/support/venv.ts";
import { type BenchContext, temporaryFolder } from "../bench.ts";
import type { Timed } from "../repeat.ts";

const VERSION = "2.4.6";
const PYTHON_MINOR = 12;
const FOLDER = join(cacheFolder, `mini-swe-agent-${VERSION}`);
const PYTHON = join(FOLDER, "bin/python");

/** Throws where no Python is new enough. */
export function installMiniSweAgent(): void {
  if (existsSync(PYTHON)) return;
  const found = pythons().find(({ minor }) => minor >= PYTHON_MINOR);
  if (found === undefined)
    throw new Error(`mini-swe-agent ${VERSION}: no Python 3.${PYTHON_MINOR} or later that has venv`);
  makeVenv(found.python, FOLDER, [[`mini-swe-agent==${VERSION}`]]);
}

export interface MiniSweAgent {
  /** Its time is taken in its own process: what stands between that process and this one does not count. */
  execute(command: string): Promise<Timed<{ readonly code: number; readonly output: string }>>;
}

/** An environment for the length of a bench; null where the package is not installed. */
export async function startMiniSweAgent(
  context: BenchContext,
  image: string,
  runArguments: readonly string[],
): Promise<MiniSweAgent | null> {
  if (!existsSync(PYTHON)) return null;
  const settings = await temporaryFolder(context);
  const program = join(import.meta.dirname, "mini_swe_agent.py");
  const child = spawn(PYTHON, [program, image, ...runArguments], {
    cwd: settings,
    env: { ...process.env, MSWEA_SILENT_STARTUP: "1", MSWEA_GLOBAL_CONFIG_DIR: settings },
    stdio: ["pipe", "pipe", "inherit"],
  });
  context.defer(() => end(child));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answer = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`mini-swe-agent's docker environment ended with ${child.exitCode}`);
    return JSON.parse(value);
  };
  await answer();
  return {
    async execute(command) {
      child.stdin.write(`${JSON.stringify(command)}\n`);
      const { seconds, code, output } = await answer();
      return { seconds, value: { code, output } };
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.stdin?.end();
  await once(child, "exit");
}
