/** One sandbox of the Docker runtime: a container, and the channel to its process 1. */
import type { FileChange } from "../../../core/task.ts";
import { checkCommand, checkFree, checkHeld, isHeld, renewLease } from "../held.ts";
import { mountsIn } from "../inside.ts";
import type { Owner } from "../label.ts";
import { Collector, decode, KILLED } from "../output.ts";
import {
  type ExecLimits,
  type ExecResult,
  type FileEntry,
  type Sandbox,
  SandboxError,
  type SandboxIdentity,
  type SandboxSpec,
  type Session,
} from "../runtime.ts";
import { changesOf, writtenPaths } from "../tree/change.ts";
import { hashManifest, type Manifest } from "../tree/manifest.ts";
import { type Channel, ChannelLost, type Running } from "./channel.ts";
import { workdirOf } from "./container.ts";
import { cpuSecondsOf, type Daemon } from "./daemon.ts";
import { listInside, readInside, statInside, writeInside } from "./files.ts";
import type { Ending } from "./frames.ts";
import { Line, SCRIPT_OUTPUT_BYTES } from "./line.ts";
import { LIST_MOUNTS, movableMounts, movedMounts } from "./mounts.ts";
import { outcome } from "./result.ts";
import { BoxScanner } from "./scan.ts";

const MEGABYTE = 1024 * 1024;

/** How often the writable layer of a container without a quota is measured, while a command runs. */
const LAYER_LOOK_MS = 2000;

export interface BoxParts {
  readonly identity: SandboxIdentity;
  readonly spec: SandboxSpec;
  readonly folder: string;
  readonly owner: Owner;
  /** The tree the sandbox was given. */
  readonly given: Manifest;
  readonly daemon: Daemon;
  readonly container: string;
  readonly channel: Channel;
  /** The writable layer must be measured: nothing limits it. */
  readonly watchLayer: boolean;
  /** From a signal to the end of a command. */
  readonly killMs: number;
  /** Removes folder and container; called again where it failed. */
  readonly remove: () => Promise<void>;
}

type Reason = "timeout" | "abort" | "disk";

interface Talk {
  readonly onStdout: (chunk: Uint8Array) => void;
  readonly onBegin: (running: Running) => void;
}

export class Box implements Sandbox {
  readonly workdir: string;
  readonly identity: SandboxIdentity;
  readonly scanner: BoxScanner;
  readonly line: Line;
  private readonly parts: BoxParts;
  private given: Manifest;
  /** Mount points that a command can move away. */
  private readonly movable: readonly string[];
  /** False until the first command of a new container. */
  private mayHaveMoved = true;
  private running: { readonly abort: AbortController; readonly done: Promise<unknown> } | undefined;
  private destroyed: Promise<void> | undefined;
  private removal: "none" | "begun" | "failed" = "none";
  constructor(parts: BoxParts) {
    this.parts = parts;
    this.identity = parts.identity;
    this.workdir = workdirOf(parts.spec);
    const { daemon, container, channel, killMs } = parts;
    this.line = new Line({
      ...{ daemon, container, channel, killMs },
      checkHeld: (cause) => checkHeld(this.parts, this.destroyed, cause),
    });
    const inMemory = parts.spec.image === undefined ? ["/tmp"] : [];
    this.movable = movableMounts(parts.spec.mounts, [this.workdir, ...inMemory]);
    this.given = parts.given;
    this.scanner = new BoxScanner({
      shell: this.line.shell,
      skip: mountsIn(this.workdir, parts.spec.mounts),
      maxBytes: parts.spec.limits.diskMb * MEGABYTE + SCRIPT_OUTPUT_BYTES,
    });
  }

  /** No command has run yet. */
  noteNew(): void {
    this.mayHaveMoved = false;
  }

  /** What an image holds beyond the copy of its tree is given as well. */
  async giveExtra(paths: readonly string[]): Promise<void> {
    const now = await this.scanner.scan();
    const extra = paths.flatMap((path) => {
      const entry = now.get(path);
      return entry === undefined ? [] : [[path, entry] as const];
    });
    this.given = new Map([...this.given, ...extra]);
  }

  async exec(argv: readonly string[], limits: ExecLimits): Promise<ExecResult> {
    return this.begin(argv, limits).done;
  }

  open(
    argv: readonly string[],
    limits: Omit<ExecLimits, "stdin" | "signal">,
    onStdout: (chunk: Uint8Array) => void,
  ): Session {
    let running: Running | undefined;
    const early: Uint8Array[] = [];
    const before = cpuSecondsOf(this.parts.container);
    const onBegin = (now: Running) => {
      running = now;
      for (const bytes of early) now.send(bytes);
    };
    const { abort, done } = this.begin(argv, limits, { onStdout, onBegin });
    return {
      send: (bytes) => (running === undefined ? early.push(bytes) : running.send(bytes)),
      cpuSeconds: () => cpuSecondsOf(this.parts.container) - before,
      setIdle: () => {},
      ended: done,
      kill: () => abort.abort(new SandboxError("destroyed", "the session was ended")),
    };
  }

  private begin(argv: readonly string[], limits: ExecLimits, talk?: Talk) {
    this.checkFree();
    checkCommand(argv);
    limits.signal?.throwIfAborted();
    this.scanner.disturb(Date.now());
    const abort = new AbortController();
    const signal = limits.signal ? AbortSignal.any([limits.signal, abort.signal]) : abort.signal;
    const done = this.run(argv, { ...limits, signal }, talk).finally(() => {
      this.running = undefined;
    });
    this.running = { abort, done };
    return { abort, done };
  }

  private async run(argv: readonly string[], limits: ExecLimits, talk?: Talk): Promise<ExecResult> {
    // Not awaited for nothing: an abort in between would be missed.
    if (this.movable.length > 0 && this.mayHaveMoved) await this.checkMountPoints(limits.signal);
    this.mayHaveMoved = true;
    const started = performance.now();
    const stdout = new Collector(talk === undefined ? limits.outputBytes : 0);
    const stderr = new Collector(limits.outputBytes);
    let lost: ChannelLost | undefined;
    let reason: Reason | undefined;
    let ending: Ending | undefined;
    await this.line.ready();
    limits.signal?.throwIfAborted();
    const running = this.line.begin({
      kind: talk !== undefined ? "talk" : limits.stdin !== undefined ? "feed" : "run",
      words: argv,
      cpuSeconds: limits.cpuSeconds ?? null,
      ...(limits.stdin !== undefined && { input: [limits.stdin], inputBytes: limits.stdin.length }),
      onStdout: talk === undefined ? (chunk) => stdout.push(chunk) : talk.onStdout,
      onStderr: (chunk) => stderr.push(chunk),
    });
    talk?.onBegin(running);
    const stops: Promise<SandboxError | undefined>[] = [];
    const stop = (why: Reason) => {
      if (reason !== undefined) return;
      reason = why;
      stops.push(this.line.interrupt(running));
    };
    const onAbort = () => stop("abort");
    limits.signal?.addEventListener("abort", onAbort, { once: true });
    const timeout = setTimeout(() => stop("timeout"), limits.timeoutSeconds * 1000);
    const watch = this.parts.watchLayer ? this.watchLayer(() => stop("disk")) : undefined;
    try {
      ending = await this.line.endOf(running);
    } catch (error) {
      if (!(error instanceof ChannelLost)) throw error;
      lost = error;
    } finally {
      clearTimeout(timeout);
      clearInterval(watch);
      limits.signal?.removeEventListener("abort", onAbort);
      // A signal still on its way would end the next command.
      await Promise.all(stops);
    }
    const wallSeconds = (performance.now() - started) / 1000;
    if (reason === "abort") throw limits.signal!.reason;
    if (lost !== undefined) await this.line.afterLoss(lost, await stops[0]);
    checkHeld(this.parts, this.destroyed);
    const killed = reason !== undefined || ending === undefined;
    if (reason === undefined && this.parts.watchLayer && (await this.isLayerFull())) reason = "disk";
    return {
      ...decode(killed ? KILLED : ending!.code),
      ...outcome(ending, limits),
      ...(lost !== undefined && { outOfMemory: true }),
      stdout: stdout.bytes(),
      stderr: stderr.bytes(),
      stdoutTruncated: stdout.truncated,
      stderrTruncated: stderr.truncated,
      timedOut: reason === "timeout",
      ...(reason === "disk" && { diskFull: true }),
      wallSeconds,
    };
  }

  /** A folder that is renamed takes the mounts in it along, and frees their paths: no command runs where something else lies. */
  private async checkMountPoints(signal?: AbortSignal): Promise<void> {
    const { stdout } = await this.line.shell(LIST_MOUNTS, []);
    signal?.throwIfAborted();
    const [moved] = movedMounts(stdout.toString("latin1"), this.workdir, this.movable);
    if (moved !== undefined)
      throw new SandboxError("path", `${moved} is a mount point, and something else lies there`);
  }

  private watchLayer(onFull: () => void): NodeJS.Timeout {
    return setInterval(() => void this.isLayerFull().then((full) => full && onFull()), LAYER_LOOK_MS);
  }

  private isLayerFull(): Promise<boolean> {
    const { daemon, container, spec } = this.parts;
    return daemon.layerBytes(container).then(
      (bytes) => bytes > spec.limits.diskMb * MEGABYTE,
      () => false,
    );
  }

  read(path: string): Promise<Uint8Array> {
    return this.alone(() => readInside(this.line.shell, path));
  }

  write(path: string, bytes: Uint8Array): Promise<void> {
    const writable = this.parts.spec.image === undefined ? [this.workdir, "/tmp"] : [""];
    return this.alone(async () => {
      this.scanner.disturb(Date.now());
      await writeInside(this.line.shell, path, bytes, writable);
    });
  }

  list(path: string): Promise<readonly FileEntry[]> {
    return this.alone(() => listInside(this.line.shell, path, this.workdir));
  }

  stat(path: string): ReturnType<Sandbox["stat"]> {
    return this.alone(() => statInside(this.line.shell, path));
  }

  changes(): Promise<readonly FileChange[]> {
    return this.alone(async () => {
      const now = await this.scanner.scan();
      const written = writtenPaths(this.given, now).filter((path) => now.get(path)?.type === "file");
      const contents = await this.scanner.contents(written, now);
      return changesOf(this.given, now, (path) => contents.get(path)!);
    });
  }

  treeHash(): Promise<string> {
    return this.alone(async () => hashManifest(await this.scanner.scan()));
  }

  /** File calls share the channel with commands. */
  private async alone<T>(work: () => Promise<T>): Promise<T> {
    this.checkFree();
    const done = work().finally(() => {
      this.running = undefined;
    });
    this.running = { abort: new AbortController(), done };
    return done;
  }

  private checkFree(): void {
    checkFree(this.parts, this.running, this.destroyed);
    this.line.check();
  }

  renew(now: number): void {
    renewLease(this.parts, now);
  }

  destroy(): Promise<void> {
    if (this.destroyed === undefined || this.removal === "failed") this.destroyed = this.end();
    return this.destroyed;
  }

  private async end(): Promise<void> {
    const running = this.running?.done.catch(() => {});
    this.running?.abort.abort(new SandboxError("destroyed", "the sandbox was destroyed"));
    try {
      if (this.removal === "failed" || isHeld(this.parts)) {
        this.removal = "begun";
        await this.parts.remove();
      }
    } catch (error) {
      this.removal = "failed";
      throw error;
    } finally {
      // Also where the daemon does not answer: whoever waits for the command learns its end.
      this.line.close();
      await running;
    }
  }
}
