/**
 * A folder as a sandbox, for tests of the harness alone: real files and a real shell, nothing kept out. The harness meets the real
 * sandbox in tests/integration/harness.test.ts.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { ExecLimits, ExecResult, FileEntry, Sandbox } from "../../services/sandbox/runtime.ts";

async function entries(folder: string, prefix = ""): Promise<FileEntry[]> {
  const found: FileEntry[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = prefix + entry.name;
    const type = entry.isDirectory() ? "directory" : entry.isSymbolicLink() ? "symlink" : "file";
    found.push({ path, type });
    if (entry.isDirectory()) found.push(...(await entries(join(folder, entry.name), `${path}/`)));
  }
  return found;
}

/** Not the machine's own: a login shell would run whatever its user's profile holds. */
const ENV = { PATH: "/usr/bin:/bin", HOME: "/nonexistent", LANG: "C.UTF-8" };

function execute(folder: string, argv: readonly string[], limits: ExecLimits): Promise<ExecResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(argv[0]!, argv.slice(1), { cwd: folder, env: ENV, detached: true, stdio: "pipe" });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    let timedOut = false;
    const kill = () => process.kill(-child.pid!, "SIGKILL");
    const timer = setTimeout(() => {
      timedOut = true;
      kill();
    }, limits.timeoutSeconds * 1000);
    limits.signal?.addEventListener("abort", kill, { once: true });
    child.stdin.end();
    child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
    child.on("error", reject);
    child.on("close", (exitCode, signal) => {
      clearTimeout(timer);
      limits.signal?.removeEventListener("abort", kill);
      resolve({
        exitCode,
        signal,
        stdout: Buffer.concat(out),
        stderr: Buffer.concat(err),
        stdoutTruncated: false,
        stderrTruncated: false,
        timedOut,
        cpuExceeded: false,
        outOfMemory: false,
        cpuSeconds: 0,
        wallSeconds: 0,
      });
    });
  });
}

export interface FolderSandbox extends Sandbox {
  /** Commands run so far: re-use of results shows here. */
  readonly executed: string[][];
}

/** `files`: path -> content. Absolute paths of tools are those of the folder. */
export async function openFolder(
  files: Readonly<Record<string, Uint8Array | string>>,
): Promise<FolderSandbox> {
  const root = await mkdtemp(join(tmpdir(), "leaf-"));
  const workdir = join(root, "repo");
  const scratch = join(root, "tmp");
  await mkdir(workdir);
  await mkdir(scratch);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(workdir, path)), { recursive: true });
    await writeFile(join(workdir, path), content);
  }
  const inside = (path: string) =>
    path === "/tmp" ? scratch : path.startsWith("/") ? path : join(workdir, path);
  const executed: string[][] = [];
  return {
    identity: { experiment: "test", slot: "test", attempt: 1, fence: "test", deadline: 0 },
    workdir,
    executed,
    renew: () => {},
    exec: (argv, limits) => {
      executed.push([...argv]);
      return execute(workdir, argv, limits);
    },
    read: (path) => readFile(inside(path)),
    write: async (path, bytes) => {
      await mkdir(dirname(inside(path)), { recursive: true });
      await writeFile(inside(path), bytes);
    },
    list: async (path) =>
      (await entries(inside(path))).map((entry) => ({ ...entry, path: join(inside(path), entry.path) })),
    stat: async (path) => {
      const found = await stat(inside(path)).catch(() => null);
      if (!found) return null;
      return {
        type: found.isFile() ? "file" : found.isDirectory() ? "directory" : "other",
        bytes: found.size,
      };
    },
    changes: async () => [],
    treeHash: async () => {
      const hash = createHash("sha256");
      const all = (await entries(workdir)).filter((entry) => entry.type === "file");
      for (const { path } of all.sort((a, b) => (a.path < b.path ? -1 : 1))) {
        const bytes = await readFile(join(workdir, path));
        hash.update(`${path}\0${bytes.length}\0`).update(bytes);
      }
      return hash.digest("hex");
    },
    destroy: () => rm(root, { recursive: true, force: true }),
  };
}
