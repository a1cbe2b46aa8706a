/** What the parts of the sandbox contract share: a runtime in a folder of its own, a small source tree, sandboxes for the length of a test. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type {
  ExecLimits,
  ExecResult,
  Sandbox,
  SandboxIdentity,
  SandboxRuntime,
  SandboxSpec,
} from "../../services/sandbox/index.ts";
import { contractRuntimes } from "./sandbox-runtimes.ts";

export const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8");
export const bytes = (content: string): Uint8Array => Buffer.from(content, "utf8");

export const LIMITS: ExecLimits = { timeoutSeconds: 30, outputBytes: 100_000 };

/** True while a process of the host has `marker` in its command line. */
export function isRunning(marker: string): boolean {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .some((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(marker);
      } catch {
        return false;
      }
    });
}

export interface Bench {
  readonly name: SandboxRuntime["name"];
  readonly runtime: SandboxRuntime;
  /** Everything of this bench lies in it; its name holds blanks. */
  readonly folder: string;
  readonly source: string;
  identify(over?: Partial<SandboxIdentity>): SandboxIdentity;
  specify(over?: Partial<SandboxSpec>): SandboxSpec;
  /** A sandbox for the length of a test. */
  within<T>(use: (sandbox: Sandbox) => Promise<T>, spec?: Partial<SandboxSpec>): Promise<T>;
  bash(sandbox: Sandbox, script: string, limits?: Partial<ExecLimits>): Promise<ExecResult>;
  remove(): void;
}

export function makeBench(name: SandboxRuntime["name"]): Bench {
  const folder = mkdtempSync(join(tmpdir(), "sandbox contract "));
  const runtime = contractRuntimes[name](folder);
  const source = join(folder, "source");
  const modules = join(folder, "modules");
  let slots = 0;
  mkdirSync(join(source, "lib"), { recursive: true });
  mkdirSync(join(modules, "dep"), { recursive: true });
  writeFileSync(join(source, "index.js"), "module.exports = 1;\n");
  writeFileSync(join(source, "lib", "a.js"), "module.exports = 2;\n");
  writeFileSync(join(modules, "dep", "index.js"), "module.exports = 'dep';\n");

  const identify: Bench["identify"] = (over = {}) => ({
    experiment: "contract",
    slot: `slot-${slots++}`,
    attempt: 1,
    fence: "fence",
    deadline: Date.now() + 600_000,
    ...over,
  });
  const specify: Bench["specify"] = (over = {}) => ({
    root: source,
    overlay: [],
    mounts: [{ source: modules, target: "/repo/node_modules" }],
    limits: { memoryMb: 256, processes: 32, diskMb: 32 },
    env: {},
    ...over,
  });
  return {
    name,
    runtime,
    folder,
    source,
    identify,
    specify,
    async within(use, spec = {}) {
      const sandbox = await runtime.create(specify(spec), identify());
      try {
        return await use(sandbox);
      } finally {
        await sandbox.destroy();
      }
    },
    bash: (sandbox, script, limits = {}) => sandbox.exec(["bash", "-c", script], { ...LIMITS, ...limits }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
