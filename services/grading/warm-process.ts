/** One warm test server: its sandbox, its process, and what has to be true for using it again. */
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { FileChange } from "../../core/task.ts";
import { boxSpec } from "../environments/index.ts";
import type { ExecResult, Sandbox, SandboxRuntime, Session } from "../sandbox/index.ts";
import { OUTPUT_BYTES } from "./command-results.ts";
import { type Ending, FramedOutput } from "./framed-output.ts";
import { mountsOf } from "./protect.ts";
import type { TestRunRequest } from "./types.ts";

const SERVER_FILES = ["warm-server.cjs", "warm-snapshot.cjs"];
const SERVER_FOLDER = "/tadpole";

/** Requests come on descriptor 3, so that tested code finds an empty standard input as in a process of its own. */
const SCRIPT = `exec node ${SERVER_FOLDER}/warm-server.cjs "$1" 3<&0 </dev/null`;

/** A server is replaced after this many runs: what leaks in V8 or in Node stays small. */
const MAX_RUNS = 500;

/** A server's sandbox is reaped when its owner is gone, or after this. */
const DEADLINE_MS = 24 * 3600 * 1000;

/** How often a running file's CPU is looked at. */
const WATCH_MS = 50;

export interface RunLimits {
  readonly cpuSeconds: number;
  readonly timeoutSeconds: number;
  readonly signal?: AbortSignal;
}

type Stop = "timeout" | "cpu" | "abort";

const NOTHING_BROKEN = {
  exitCode: null,
  signal: null,
  stderr: new Uint8Array(),
  stderrTruncated: false,
  timedOut: false,
  cpuExceeded: false,
  outOfMemory: false,
} as const;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** An environment in the making is tested under its later key, in another folder. */
const environmentName = ({ key, root }: TestRunRequest["environment"]): string => `${key} ${root}`;

export class WarmServer {
  private readonly sandbox: Sandbox;
  /** Key of the environment. */
  readonly key: string;
  private readonly environment: string;
  private readonly memoryMb: number;
  private readonly mountPoints: string;
  private session: { readonly talk: Session; output: FramedOutput } | undefined;
  private runs = 0;
  private clean = true;

  private constructor(sandbox: Sandbox, request: TestRunRequest) {
    this.sandbox = sandbox;
    this.key = request.environment.key;
    this.environment = environmentName(request.environment);
    this.memoryMb = request.limits.memoryMb;
    this.mountPoints = JSON.stringify(mountsOf(request.environment).map(({ target }) => target));
  }

  static async create(runtime: SandboxRuntime, request: TestRunRequest): Promise<WarmServer> {
    const { environment, limits } = request;
    const here = fileURLToPath(new URL(".", import.meta.url));
    const mounts = [
      ...mountsOf(environment),
      ...SERVER_FILES.map((name) => ({ source: `${here}${name}`, target: `${SERVER_FOLDER}/${name}` })),
    ];
    const sandbox = await runtime.create(boxSpec(environment, { overlay: [], mounts, limits }), {
      experiment: "grading",
      slot: `warm/${environment.key}`,
      attempt: 0,
      fence: randomUUID(),
      deadline: Date.now() + DEADLINE_MS,
    });
    return new WarmServer(sandbox, request);
  }

  fits({ environment, limits }: TestRunRequest): boolean {
    return environmentName(environment) === this.environment && limits.memoryMb === this.memoryMb;
  }

  /** True when the next run would find what the first one found. */
  isClean(): boolean {
    return this.clean && this.runs < MAX_RUNS;
  }

  /**
   * Runs test files in order on the tree with `overlay`: a result per file, fewer when a limit ends the run. A file that ends the
   * process ends it as it would its own; the rest runs in a new one. Throws as `Sandbox.exec` does.
   */
  async run(
    files: readonly string[],
    overlay: readonly FileChange[],
    limits: RunLimits,
  ): Promise<readonly ExecResult[]> {
    this.runs++;
    // Until its end says otherwise: a run that is given up leaves the tree changed.
    this.clean = false;
    const results: ExecResult[] = [];
    const used = { cpuSeconds: 0, wallSeconds: 0 };
    while (results.length < files.length) {
      const left = {
        ...limits,
        cpuSeconds: limits.cpuSeconds - used.cpuSeconds,
        timeoutSeconds: limits.timeoutSeconds - used.wallSeconds,
      };
      const part = await this.runPart(
        files.slice(results.length),
        results.length === 0 ? overlay : undefined,
        left,
      );
      for (const result of part) {
        results.push(result);
        used.cpuSeconds += result.cpuSeconds;
        used.wallSeconds += result.wallSeconds;
      }
      if (
        part.some(
          (result) =>
            result.timedOut ||
            result.cpuExceeded ||
            result.outOfMemory ||
            result.tooManyProcesses ||
            result.diskFull,
        )
      )
        break;
    }
    return results;
  }

  /** As many of the files as one process runs; at least one. */
  private async runPart(
    files: readonly string[],
    overlay: readonly FileChange[] | undefined,
    limits: RunLimits,
  ): Promise<readonly ExecResult[]> {
    this.session ??= this.start();
    const { session } = this;
    const { talk } = session;
    const nonce = randomUUID();
    const started = performance.now();
    const cpuBefore = talk.cpuSeconds();
    const results: ExecResult[] = [];
    const elapsed = () =>
      (performance.now() - started) / 1000 - sum(results.map((result) => result.wallSeconds));
    let lastEnding: Ending | undefined;
    const finished = new Promise<"finished">((resolve) => {
      session.output = new FramedOutput(nonce, (ending, printed) => {
        const { code: exitCode, cpuSeconds } = ending;
        results.push({ ...NOTHING_BROKEN, ...printed, exitCode, cpuSeconds, wallSeconds: elapsed() });
        lastEnding = ending;
        if (ending.retire || results.length === files.length) resolve("finished");
      });
    });
    talk.setIdle(false);
    talk.send(Buffer.from(`${JSON.stringify({ nonce, files, overlay })}\n`));

    let stop: Stop | undefined;
    const kill = (why: Stop) => {
      stop ??= why;
      talk.kill();
    };
    const abort = () => kill("abort");
    limits.signal?.addEventListener("abort", abort, { once: true });
    const timeout = setTimeout(() => kill("timeout"), limits.timeoutSeconds * 1000);
    const watch = setInterval(() => {
      if (talk.cpuSeconds() - cpuBefore > limits.cpuSeconds) kill("cpu");
    }, WATCH_MS);
    try {
      const end = await Promise.race([finished, talk.ended]);
      if (end !== "finished") {
        this.session = undefined;
        const cpuSeconds = end.cpuSeconds - cpuBefore - sum(results.map((result) => result.cpuSeconds));
        return [...results, { ...end, ...session.output.printed(), cpuSeconds, wallSeconds: elapsed() }];
      }
      talk.setIdle(true);
      const { retire, touched } = lastEnding!;
      if (retire || touched) {
        await talk.ended;
        this.session = undefined;
      }
      if (overlay !== undefined && results.length === files.length) this.clean = !touched;
      return results;
    } catch (error) {
      this.session = undefined;
      if (stop === undefined) throw error;
      if (stop === "abort") throw limits.signal!.reason;
      const why = { timedOut: stop === "timeout", cpuExceeded: stop === "cpu", signal: "SIGKILL" };
      const cpuSeconds =
        stop === "cpu" ? limits.cpuSeconds - sum(results.map((result) => result.cpuSeconds)) : 0;
      return [
        ...results,
        { ...NOTHING_BROKEN, ...why, ...session.output.printed(), cpuSeconds, wallSeconds: elapsed() },
      ];
    } finally {
      clearTimeout(timeout);
      clearInterval(watch);
      limits.signal?.removeEventListener("abort", abort);
    }
  }

  private start() {
    const limits = { timeoutSeconds: DEADLINE_MS / 1000, outputBytes: OUTPUT_BYTES };
    const onStdout = (chunk: Uint8Array) => session.output.push(chunk);
    const talk = this.sandbox.open!(["sh", "-c", SCRIPT, "sh", this.mountPoints], limits, onStdout);
    const session = { talk, output: new FramedOutput("", () => {}) };
    // Whoever waits for a file meets the error; between two files nobody waits, and the next one gets a process anew.
    talk.ended.catch(() => {
      if (this.session === session) this.session = undefined;
    });
    return session;
  }

  async destroy(): Promise<void> {
    await this.sandbox.destroy();
  }
}
