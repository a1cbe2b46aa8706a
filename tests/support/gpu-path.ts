/** The Python environment of the GPU path (`npm run gpu-path:install`), and a tiny real model made in it. */
import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { lane } from "../../bench/cpu-llm/lane.ts";

export const { python: gpuPathPython, trainerPackage: torchPackage } = lane;

/** Nothing is asked of the network. */
export const gpuPathEnv = {
  ...process.env,
  PYTHONPATH: torchPackage,
  PYTHONUNBUFFERED: "1",
  PYTHONDONTWRITEBYTECODE: "",
  HF_HUB_OFFLINE: "1",
};

/** Throws where it is not installed. */
export async function gpuPath(): Promise<void> {
  if (!existsSync(join(lane.folder, "installed.json")))
    throw new Error(`no environment in ${lane.folder}: npm run gpu-path:install`);
}

export interface PythonResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs Python in the package's folder; a failure of the program is a result, not an error. */
export async function python(args: readonly string[], cwd = torchPackage): Promise<PythonResult> {
  try {
    const options = { cwd, env: gpuPathEnv, maxBuffer: 1 << 26 };
    return { code: 0, ...(await promisify(execFile)(gpuPathPython, [...args], options)) };
  } catch (error) {
    const { code, stdout, stderr } = error as PythonResult & { code: unknown };
    if (typeof code !== "number") throw error;
    return { code, stdout, stderr };
  }
}

/** Random weights, two layers, a tokenizer of bytes. */
export async function makeTinyModel(into: string, seed = 0): Promise<string> {
  const { code, stderr } = await python([join(torchPackage, "tests/tiny.py"), into, String(seed)]);
  if (code !== 0) throw new Error(stderr);
  return into;
}

/** A Python program that answers each JSON line with one, in order. */
export function startAnswering(args: readonly string[]) {
  const child = spawn(gpuPathPython, [...args], { env: gpuPathEnv, stdio: ["pipe", "pipe", "inherit"] });
  const waiting: ((line: string) => void)[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => waiting.shift()?.(line));
  const ended = new Promise<never>((_, reject) => {
    child.once("close", (code) => reject(new Error(`${args[0]} ended with exit code ${code}`)));
  });
  ended.catch(() => {});
  return {
    ask<T>(question: object): Promise<T> {
      const answer = new Promise<string>((resolve) => waiting.push(resolve));
      child.stdin.write(`${JSON.stringify(question)}\n`);
      return Promise.race([answer, ended]).then((line) => JSON.parse(line) as T);
    },
    close: () => child.kill(),
  };
}
