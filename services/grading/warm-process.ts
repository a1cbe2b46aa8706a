/** One warm test server: its sandbox, its process, and what has to be true for using it again. */
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { FileChange } from "../../core/task.ts";
import type { ExecResult, Sandbox, SandboxRuntime, Session } from "../sandbox/index.ts";
import { OUTPUT_BYTES } from "./file-results.ts";
import { FramedOutput } from "./framed-output.ts";
import { mountsOf } from "./protect.ts";
import type { TestRunRequest } from "./types.ts";

const SERVER_FILES = ["warm-server.cjs", "warm-snapshot.cjs"];
const SERVER_FOLDER = "/tadpole";

/** Requests come on descriptor 3, so that tested code finds an empty standard input as in a process of its own. */
const ARGV = ["sh", "-c", `exec node ${SERVER_FOLDER}/warm-server.cjs 3<&0 </dev/null`];

/** A server is replaced after this many files: what leaks in V8 or in Node stays small. */
const MAX_FILES = 2000;

/** A server's sandbox is reaped when its owner is gone, or after this. */
const DEADLINE_MS = 24 * 3600 * 1000;

/** How often a running file's CPU is looked at. */
const WATCH_MS = 50;

export interface Job {
  readonly file: string;
  /** Given with the first file of a run. */
  readonly overlay?: readonly FileChange[];
  /** The tree is put back after it. */
  readonly last: boolean;
}

export interface JobLimits {
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

export class WarmServer {
  private readonly sandbox: Sandbox;
  private readonly environmentKey: string;
  private readonly memoryMb: number;
  private session: { readonly talk: Session; readonly output: FramedOutput } | undefined;
  /** The session that applied the current run's overlay and so can put the tree back. */
  private changedBy: unknown;
  private files = 0;
  private clean = true;

  private constructor(sandbox: Sandbox, request: TestRunRequest) {
    this.sandbox = sandbox;
    this.environmentKey = request.environment.key;
    this.memoryMb = request.limits.memoryMb;
  }

  static async create(runtime: SandboxRuntime, request: TestRunRequest): Promise<WarmServer> {
    const { environment, limits } = request;
    const here = fileURLToPath(new URL(".", import.meta.url));
    const mounts = [
      ...mountsOf(environment),
      ...SERVER_FILES.map((name) => ({ source: `${here}${name}`, target: `${SERVER_FOLDER}/${name}` })),
    ];
    const sandbox = await runtime.create(
      { root: environment.root, overlay: [], mounts, limits, env: {} },
      {
        experiment: "grading",
        slot: `warm/${environment.key}`,
        attempt: 0,
        fence: randomUUID(),
        deadline: Date.now() + DEADLINE_MS,
      },
    );
    return new WarmServer(sandbox, request);
  }

  fits({ environment, limits }: TestRunRequest): boolean {
    return environment.key === this.environmentKey && limits.memoryMb === this.memoryMb;
  }

  /** True when the next run would find what the first one found. */
  isClean(): boolean {
    return this.clean && this.files < MAX_FILES;
  }

  /** Runs one test file. Throws as `Sandbox.exec` does. */
  async run(job: Job, limits: JobLimits): Promise<ExecResult> {
    this.files++;
    // Until its end says otherwise: a run that is given up leaves the tree changed.
    this.clean = false;
    this.session ??= this.start();
    const { session } = this;
    const { talk, output } = session;
    if (job.overlay !== undefined) this.changedBy = session;
    const nonce = randomUUID();
    const started = performance.now();
    const cpuBefore = talk.cpuSeconds();
    const ended = output.expect(nonce);
    talk.setIdle(false);
    talk.send(Buffer.from(`${JSON.stringify({ nonce, ...job })}\n`));

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
    const wallSeconds = () => (performance.now() - started) / 1000;
    try {
      const end = await Promise.race([ended, talk.ended]);
      if ("exitCode" in end) {
        this.session = undefined;
        return {
          ...end,
          ...output.take(),
          cpuSeconds: end.cpuSeconds - cpuBefore,
          wallSeconds: wallSeconds(),
        };
      }
      talk.setIdle(true);
      if (end.retire || end.touched) {
        await talk.ended;
        this.session = undefined;
      }
      this.clean = job.last && !end.touched && session === this.changedBy;
      const { code: exitCode, cpuSeconds } = end;
      return { ...NOTHING_BROKEN, ...output.take(), exitCode, cpuSeconds, wallSeconds: wallSeconds() };
    } catch (error) {
      this.session = undefined;
      if (stop === undefined) throw error;
      if (stop === "abort") throw limits.signal!.reason;
      const cpuSeconds = stop === "cpu" ? limits.cpuSeconds : 0;
      const why = { timedOut: stop === "timeout", cpuExceeded: stop === "cpu", signal: "SIGKILL" };
      return { ...NOTHING_BROKEN, ...why, ...output.take(), cpuSeconds, wallSeconds: wallSeconds() };
    } finally {
      clearTimeout(timeout);
      clearInterval(watch);
      limits.signal?.removeEventListener("abort", abort);
    }
  }

  private start() {
    const output = new FramedOutput();
    const limits = { timeoutSeconds: DEADLINE_MS / 1000, outputBytes: OUTPUT_BYTES };
    const talk = this.sandbox.open!(ARGV, limits, (chunk) => output.push(chunk));
    // Whoever waits for a file meets the error; between two files nobody waits.
    talk.ended.catch(() => {});
    return { talk, output };
  }

  async destroy(): Promise<void> {
    await this.sandbox.destroy();
  }
}
