/** The warm runner: sandboxed Node processes that stay, a pool of them shared by all environments. */
import { basename } from "node:path";
import type { FileChange } from "../../core/task.ts";
import type { SandboxRuntime } from "../sandbox/index.ts";
import { CommandResults } from "./command-results.ts";
import { commandsOf } from "./commands.ts";
import { hashGraded } from "./tree.ts";
import type { TestRunner, TestRunRequest, TestRunResult } from "./types.ts";
import { WORKDIR } from "./verifier-files.ts";
import { WarmServer } from "./warm-process.ts";

export interface WarmOptions {
  readonly runtime: SandboxRuntime;
  /** Runs what a warm process cannot. */
  readonly cold: TestRunner;
  /** Processes kept at most (about 60 MB each); more are made while all are in use. */
  readonly maxIdle?: number;
}

/** One for each environment of a quickstart's iteration and some more. */
const DEFAULT_MAX_IDLE = 8;

export function createWarmRunner(options: WarmOptions): TestRunner {
  return new WarmRunner(options);
}

class WarmRunner implements TestRunner {
  readonly mode = "warm";
  private readonly options: WarmOptions;
  /** Least recently used first. */
  private idle: WarmServer[] = [];
  private readonly busy = new Set<WarmServer>();
  /** At work for an environment that was forgotten meanwhile. */
  private readonly outdated = new WeakSet<WarmServer>();
  private closed = false;

  constructor(options: WarmOptions) {
    this.options = options;
  }

  async run(request: TestRunRequest): Promise<TestRunResult> {
    const { environment, overlay } = request;
    if (needsCold(request)) return this.options.cold.run(request);
    request.signal?.throwIfAborted();
    const treeHash = request.treeHash ?? (await hashGraded(environment, overlay));
    const server = await this.take(request);
    this.busy.add(server);
    try {
      return { ...(await runOn(server, request, overlay)), treeHash };
    } finally {
      this.busy.delete(server);
      await this.giveBack(server);
    }
  }

  private async take(request: TestRunRequest): Promise<WarmServer> {
    const at = this.idle.findLastIndex((server) => server.fits(request));
    if (at >= 0) return this.idle.splice(at, 1)[0]!;
    return WarmServer.create(this.options.runtime, request);
  }

  private async giveBack(server: WarmServer): Promise<void> {
    if (this.closed || this.outdated.has(server) || !server.isClean()) return server.destroy();
    this.idle.push(server);
    if (this.idle.length > (this.options.maxIdle ?? DEFAULT_MAX_IDLE)) await this.idle.shift()!.destroy();
  }

  async forget(environmentKey: string): Promise<void> {
    const isOf = ({ key }: WarmServer): boolean => key === environmentKey;
    for (const server of this.busy) if (isOf(server)) this.outdated.add(server);
    const gone = this.idle.filter(isOf);
    this.idle = this.idle.filter((server) => !isOf(server));
    await Promise.all(gone.map((server) => server.destroy()));
  }

  async close(): Promise<void> {
    this.closed = true;
    const servers = [...this.idle.splice(0), ...this.busy];
    await Promise.all(servers.map((server) => server.destroy()));
  }
}

async function runOn(
  server: WarmServer,
  request: TestRunRequest,
  overlay: readonly FileChange[],
): Promise<Omit<TestRunResult, "treeHash">> {
  const commands = commandsOf(request);
  const results = new CommandResults({ ...request, workdir: WORKDIR });
  const files = commands.map(({ scope }) => scope);
  const done = await server.run(files, overlay, results.remaining());
  for (const [index, result] of done.entries()) results.add(commands[index]!, result);
  return results.result();
}

/**
 * The server runs tape's files in the runtime's own system, and nothing else. Node keeps ES modules and package files in caches
 * that cannot be emptied.
 */
function needsCold({ environment, overlay, verifier }: TestRunRequest): boolean {
  const { sources, tests, framework } = environment.entry;
  return (
    verifier !== undefined ||
    environment.image !== null ||
    framework !== "tape" ||
    [...sources, ...tests].some((path) => path.endsWith(".mjs")) ||
    overlay.some(({ path }) => basename(path) === "package.json" || path.endsWith(".mjs"))
  );
}
