/** Runs the command line as a user does, in a data folder of its own. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageRoot } from "../../infra/stack/index.ts";

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Cli {
  readonly dataFolder: string;
  run(args: readonly string[], env?: NodeJS.ProcessEnv): Promise<CliResult>;
  /** Runs and parses stdout; throws what went wrong unless the exit code is 0. */
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of the value
  json(...args: string[]): Promise<any>;
  /** Stops the stack and removes the folder. */
  close(): Promise<void>;
}

export function openCli(): Cli {
  const dataFolder = mkdtempSync(join(tmpdir(), "tadpole-e2e-"));
  const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CliResult> =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [join(packageRoot, "bin/tadpole.mjs"), ...args], {
        env: { ...process.env, TADPOLE_DATA: dataFolder, ...env },
        stdio: ["ignore", "pipe", "pipe"],
      });
      let stdout = "";
      let stderr = "";
      child.stdout.on("data", (bytes) => {
        stdout += bytes;
      });
      child.stderr.on("data", (bytes) => {
        stderr += bytes;
      });
      child.once("error", reject);
      child.once("close", (code) => resolve({ code, stdout, stderr }));
    });
  return {
    dataFolder,
    run,
    json: async (...args) => {
      const { code, stdout, stderr } = await run([...args, "--json"]);
      if (code !== 0) throw new Error(`tadpole ${args.join(" ")} ended with ${code}: ${stderr}`);
      return JSON.parse(stdout);
    },
    close: async () => {
      await run(["down"]);
      rmSync(dataFolder, { recursive: true, force: true });
    },
  };
}
