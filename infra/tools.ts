/**
 * Programs that tests need and no experiment does: `node infra/tools.ts` finds each on this machine or builds it with Go, once, into the user's cache
 * folder. What is there is left alone.
 */
import { execFile } from "node:child_process";
import { accessSync, constants, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { cacheFolder, findOnPath } from "./bootstrap/temporal.mjs";

export interface Tool {
  /** Of the program, on PATH and in the cache. */
  readonly name: string;
  readonly version: string;
  /** What `go install` builds, and the name it gives to it. */
  readonly source: string;
  readonly built: string;
  /** Where else it may be. */
  readonly folders: readonly string[];
  readonly why: string;
}

/** Compilers are slow on a busy machine. */
const BUILD_MS = 60 * 60_000;

export const TOOLS = {
  versitygw: {
    name: "versitygw",
    version: "1.8.0",
    source: "github.com/versity/versitygw/cmd/versitygw",
    built: "versitygw",
    folders: [],
    why: "the S3-compatible server of the artifact tests",
  },
  compose: {
    name: "docker-compose",
    version: "2.32.4",
    source: "github.com/docker/compose/v2/cmd",
    built: "cmd",
    // https://docs.docker.com/compose/install/linux/: where the plugin is put, which runs by itself as well.
    folders: [
      join(homedir(), ".docker/cli-plugins"),
      "/usr/local/lib/docker/cli-plugins",
      "/usr/libexec/docker/cli-plugins",
      "/usr/lib/docker/cli-plugins",
    ],
    why: "it reads infra/deploy/compose.yaml",
  },
} as const satisfies Readonly<Record<string, Tool>>;

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function cached({ name, version }: Tool, env: NodeJS.ProcessEnv): string {
  return join(cacheFolder(env), `${name}-${version}`, name);
}

/** On PATH, where its own installers put it, or in the cache; null where it has to be built. */
export function findTool(tool: Tool, env: NodeJS.ProcessEnv = process.env): string | null {
  const files = [...tool.folders.map((folder) => join(folder, tool.name)), cached(tool, env)];
  return findOnPath(tool.name, env) ?? files.find(isProgram) ?? null;
}

/** Throws an Error that says which command gets it. */
export function requireTool(tool: Tool): string {
  const found = findTool(tool);
  if (found !== null) return found;
  throw new Error(`${tool.name} (${tool.why}) is neither on PATH nor in the cache: run node infra/tools.ts`);
}

/** Nothing appears in the cache before the build has come to its end. */
async function build(tool: Tool, env: NodeJS.ProcessEnv): Promise<string> {
  const go = findOnPath("go", { PATH: `${env.PATH ?? ""}:/usr/local/go/bin` });
  if (go === null)
    throw new Error(
      `${tool.name} (${tool.why}) is missing, and so is Go, which builds it: https://go.dev/dl`,
    );
  const target = cached(tool, env);
  mkdirSync(dirname(target), { recursive: true });
  const folder = mkdtempSync(join(dirname(target), "new-"));
  try {
    const args = ["install", "-ldflags", "-s -w", `${tool.source}@v${tool.version}`];
    await promisify(execFile)(go, args, { env: { ...env, GOBIN: folder }, timeout: BUILD_MS });
    renameSync(join(folder, tool.built), target);
    return target;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main)
  for (const tool of Object.values(TOOLS)) {
    const found = findTool(tool);
    if (found === null) console.log(`… ${tool.name}: building ${tool.version} with Go, some minutes`);
    try {
      console.log(`✓ ${tool.name}: ${found ?? (await build(tool, process.env))}`);
    } catch (error) {
      console.log(`✗ ${tool.name}: ${(error as Error).message}`);
      // Elsewhere the lane that needs it says that it did not run.
      if (process.env.CI === "true") process.exitCode = 1;
    }
  }
