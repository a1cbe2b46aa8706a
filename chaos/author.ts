/** A scripted author beside a run: a process of its own on one address, since the address is among the settings that both runs must share. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { packageRoot } from "../infra/stack/index.ts";

const PROGRAM = join(packageRoot, "tests/support/scripted-author/main.ts");

export interface RunningAuthor {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Ends it; how many requests it answered. */
  stop(): Promise<number>;
}

/** `port` 0 = a free one. Throws where it does not start: the personality is none, the port is taken. */
export async function startAuthor(personality: string, port: number): Promise<RunningAuthor> {
  const child = spawn(process.execPath, [PROGRAM, "--port", String(port), "--personality", personality], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const told: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    createInterface(stream).on("line", (line) => void told.push(line));
  const orphaned = () => void child.kill();
  process.once("exit", orphaned);
  const ended = once(child, "close");
  const url = await firstUrl(child, told);
  return {
    url,
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
      process.removeListener("exit", orphaned);
      return Number(/^answered (\d+) requests$/.exec(told.at(-1) ?? "")?.[1] ?? Number.NaN);
    },
  };
}

async function firstUrl(child: ChildProcess, told: readonly string[]): Promise<string> {
  for (;;) {
    const url = told.map((line) => / author at (\S+)$/.exec(line)?.[1]).find((found) => found !== undefined);
    if (url !== undefined) return url;
    if (child.exitCode !== null) throw new Error(`the author did not start: ${told.join("; ")}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
