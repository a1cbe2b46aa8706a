/** Installations of pinned files in the data folder: each made once, by the registry's own client, and checked before it is used. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { EnvironmentError } from "./errors.ts";
import { environmentsFolder, moveIntoPlace, removeAbandoned, temporaryPath } from "./folders.ts";
import type { NpmLock } from "./pins.ts";
import { hashTree, readTree, type Tree } from "./tree.ts";

/** Beside the installed folder: the hash of what the client put there, when it had just checked every file. */
const HASH_FILE = "sha256";

/** Installations this process has compared with their hash. */
const checked = new Set<string>();

export interface ToolOptions {
  readonly cwd: string;
  /** For messages; default the command and its first words. */
  readonly what?: string;
  /** Variables beside this process's own. */
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** What it reads; default nothing. */
  readonly input?: string | Uint8Array;
  /** Of what the tool prints; default utf8. */
  readonly encoding?: BufferEncoding;
}

/** Bytes kept of what a tool complains about. */
const COMPLAINT = 4000;

/**
 * Runs a registry's client or a compiler and returns what it printed. Throws `EnvironmentError("install")` with its complaint, and the signal's reason once an
 * aborted one has ended: until then it may still write.
 */
export function runTool(command: string, args: readonly string[], options: ToolOptions): Promise<string> {
  const {
    what = `${command} ${args.slice(0, 3).join(" ")}`,
    cwd,
    env,
    signal,
    input,
    encoding = "utf8",
  } = options;
  if (signal?.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
      ...(env !== undefined && { env: { ...process.env, ...env } }),
      // What it leaves half made is removed with the folder it works in.
      ...(signal === undefined ? {} : { signal, killSignal: "SIGKILL" }),
    });
    // A tool that does not read its input closes it: its exit code tells.
    child.stdin?.on("error", () => {});
    child.stdin?.end(input);
    let output = "";
    let complaints = "";
    child.stdout!.setEncoding(encoding).on("data", (text: string) => {
      output += text;
    });
    child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      complaints = (complaints + text).slice(-COMPLAINT);
    });
    child.on("error", (cause: NodeJS.ErrnoException) => {
      if (signal?.aborted) return child.pid === undefined ? reject(signal.reason) : undefined;
      const why = cause.code === "ENOENT" ? `${command} is not installed` : cause.message;
      reject(new EnvironmentError("install", `${what} could not be started: ${why}`, { cause }));
    });
    child.on("close", (code) => {
      if (signal?.aborted) return reject(signal.reason);
      if (code === 0) return resolve(output);
      const complaint = complaints.trim() || output.slice(-COMPLAINT).trim();
      reject(new EnvironmentError("install", `${what} ended with ${code}:\n${complaint}`));
    });
  });
}

/**
 * Links to programs, programs with the host's paths in them, and notes of how files came here differ from one installation of the same
 * files to the next.
 */
const INCIDENTAL = /(^|\/)\.bin$|^bin$|\.dist-info\/(RECORD|INSTALLER|REQUESTED|direct_url\.json)$/;

/** What an installation holds. */
export function readInstalled(folder: string): Promise<Tree> {
  return readTree(folder, (path) => !INCIDENTAL.test(path));
}

/** True when the installation is there and is still what was checked. */
async function isWhole(target: string, content: string): Promise<boolean> {
  if (!existsSync(join(target, HASH_FILE))) return false;
  if (checked.has(target)) return true;
  const expected = await readFile(join(target, HASH_FILE), "utf8");
  const whole = await readInstalled(join(target, content)).then(
    (tree) => hashTree(tree) === expected,
    () => false,
  );
  if (whole) checked.add(target);
  return whole;
}

export interface Installation {
  readonly dataFolder: string;
  /** Name of the installation's folder below `<data>/environments`; names what it is made from. */
  readonly name: string;
  /** Folder inside it that `fill` makes. */
  readonly content: string;
  /** Makes the installation in an empty folder. */
  readonly fill: (folder: string) => Promise<void>;
  readonly log?: (() => void) | undefined;
}

/**
 * The content folder of an installation. Safe to call from several processes at once: each works in a folder of its own and the
 * first one's result stays. An installation that was changed since is made again.
 */
export async function installOnce(installation: Installation): Promise<string> {
  const { dataFolder, name, content, fill } = installation;
  const folder = environmentsFolder(dataFolder);
  const target = join(folder, name);
  await removeAbandoned(folder, Date.now());
  if (await isWhole(target, content)) return join(target, content);
  installation.log?.();
  const temporary = temporaryPath(folder, "install");
  try {
    await mkdir(temporary, { recursive: true });
    await fill(temporary);
    await writeFile(join(temporary, HASH_FILE), hashTree(await readInstalled(join(temporary, content))));
    await moveIntoPlace(temporary, target, { replace: !(await isWhole(target, content)) });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return join(target, content);
}

const NPM_FLAGS = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-progress", "--prefer-offline"];

/** Installs a lockfile and returns the folder's `node_modules`. Nothing a package ships is run. */
export function installLock(
  lock: Pick<NpmLock, "folder" | "hash">,
  dataFolder: string,
  options: { readonly signal?: AbortSignal; readonly log?: (line: string) => void } = {},
): Promise<string> {
  return installOnce({
    dataFolder,
    name: `modules-${lock.hash.slice(0, 12)}`,
    content: "node_modules",
    fill: async (folder) => {
      for (const name of ["package.json", "package-lock.json"])
        await copyFile(join(lock.folder, name), join(folder, name));
      await runTool("npm", ["ci", ...NPM_FLAGS], { cwd: folder, signal: options.signal });
      // npm makes no folder for a lockfile without packages.
      await mkdir(join(folder, "node_modules"), { recursive: true });
    },
    log: () => options.log?.(`installing the packages of ${join(lock.folder, "package-lock.json")}`),
  });
}
