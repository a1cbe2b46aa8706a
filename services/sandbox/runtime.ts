/** The contract of a sandbox: what an agent's commands and a grader's tests run in. */
import type { SandboxRuntimeName } from "../../core/experiment.ts";
import type { FileChange } from "../../core/task.ts";

export interface SandboxLimits {
  readonly memoryMb: number;
  readonly processes: number;
  /** Size of the writable tree plus /tmp. */
  readonly diskMb: number;
}

/** An image whose own files are the environment. */
export interface SandboxImage {
  /** Pinned: `name@sha256:…`, or the image's id `sha256:…`. */
  readonly reference: string;
  /** Absolute path of the working tree in it. */
  readonly workdir: string;
}

export interface SandboxSpec {
  /** Folder whose content becomes the working tree `/repo` (copied: the folder itself is never changed). */
  readonly root: string;
  /**
   * The working tree is what lies in this image, and `root` a copy of it on the host. Absent = the runtime's own system, with the tree
   * put at `/repo`. A runtime without images refuses it (`unavailable`).
   */
  readonly image?: SandboxImage;
  /** Applied to the copy before the first command. */
  readonly overlay: readonly FileChange[];
  /** Read-only mounts, `target` absolute inside the sandbox; a target inside /repo is allowed (`/repo/node_modules`). */
  readonly mounts: readonly { readonly source: string; readonly target: string }[];
  readonly limits: SandboxLimits;
  /** Variables of every command; nothing of the host's environment is passed on. */
  readonly env: Readonly<Record<string, string>>;
}

/** Who owns the sandbox; in its labels, so that it can be adopted or reaped. */
export interface SandboxIdentity {
  readonly experiment: string;
  readonly slot: string;
  readonly attempt: number;
  readonly fence: string;
  /** Milliseconds since the epoch after which the reaper may remove it. */
  readonly deadline: number;
  /** Another process may go on in it when its own has died; the reaper leaves it for a while. */
  readonly adoptable?: boolean;
}

export interface ExecLimits {
  /** Wall limit. The whole process tree dies at it. */
  readonly timeoutSeconds: number;
  /** CPU limit of the process tree's members (RLIMIT_CPU); null = none. */
  readonly cpuSeconds?: number | null;
  /** stdout and stderr are each cut at this many bytes; the rest is read and dropped. */
  readonly outputBytes: number;
  readonly stdin?: Uint8Array;
  readonly signal?: AbortSignal;
}

export interface ExecResult {
  /** null when a signal ended the command (128 + n, as shells report it, is read as signal n). */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly stdoutTruncated: boolean;
  readonly stderrTruncated: boolean;
  readonly timedOut: boolean;
  readonly cpuExceeded: boolean;
  /** It met the memory limit: it was killed whole (process), or the kernel killed processes of it (docker). */
  readonly outOfMemory: boolean;
  /** It met the limit `processes`: it was killed (process), or was refused more of them (docker: at four threads for each). */
  readonly tooManyProcesses?: boolean;
  /** It filled the sandbox's disk (`diskMb`): it was killed (process), or its writes failed and the disk is full now (docker). */
  readonly diskFull?: boolean;
  /** CPU of the whole process tree, the dead included. */
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
}

/** A command that stays and is talked to. The sandbox is busy until it has ended. */
export interface Session {
  /** To the command's standard input. */
  send(bytes: Uint8Array): void;
  /** CPU seconds used so far by the live process tree. */
  cpuSeconds(): number;
  /** While idle its memory is not watched. */
  setIdle(idle: boolean): void;
  /** Rejects as `exec` does; stdout is empty here, it went to the listener. */
  readonly ended: Promise<ExecResult>;
  /** Kills the whole tree; `ended` then rejects with SandboxError `destroyed`. */
  kill(): void;
}

export type SandboxErrorKind = "unavailable" | "boot" | "lost" | "busy" | "path" | "disk" | "destroyed";

/** `lost`, `boot`, `unavailable` and `disk` are infrastructure; `path` is the agent's own mistake; `busy` a caller's. */
export class SandboxError extends Error {
  readonly kind: SandboxErrorKind;
  /** Of `lost`: the kernel killed the sandbox whole for want of memory, which what ran in it had used up. */
  readonly outOfMemory: boolean;
  constructor(
    kind: SandboxErrorKind,
    message: string,
    options: ErrorOptions & { readonly outOfMemory?: boolean } = {},
  ) {
    super(message, options);
    this.name = "SandboxError";
    this.kind = kind;
    this.outOfMemory = options.outOfMemory ?? false;
  }
}

/** Whether what ran in a sandbox had it killed whole by taking all its memory: its own end, and no fault of the infrastructure. */
export const tookAllMemory = (error: unknown): boolean => error instanceof SandboxError && error.outOfMemory;

export interface FileEntry {
  /** Relative to the working tree, `/` separated. */
  readonly path: string;
  readonly type: "file" | "directory" | "symlink";
}

export interface Sandbox {
  readonly identity: SandboxIdentity;
  /** Absolute path of the working tree inside: `/repo`. */
  readonly workdir: string;
  /** argv is run as it is, in the working tree, in its own process group; one at a time (`busy` otherwise). */
  exec(argv: readonly string[], limits: ExecLimits): Promise<ExecResult>;
  /** Absent where a runtime cannot keep a command running. */
  open?(
    argv: readonly string[],
    limits: Omit<ExecLimits, "stdin" | "signal">,
    onStdout: (chunk: Uint8Array) => void,
  ): Session;
  /** `path` is absolute inside the sandbox or relative to the working tree; symlinks are followed inside the sandbox only. Throws an Error with a POSIX `code` (`ENOENT`, `EISDIR`, …) or SandboxError `path`. */
  read(path: string): Promise<Uint8Array>;
  /** Parents are created. */
  write(path: string, bytes: Uint8Array): Promise<void>;
  /** Every entry below `path`, recursively, not following symlinks; unsorted. */
  list(path: string): Promise<readonly FileEntry[]>;
  stat(
    path: string,
  ): Promise<{ readonly type: "file" | "directory" | "other"; readonly bytes: number } | null>;
  /** The agent's change against the tree it was given (spec root + overlay), sorted by path. Mounts are no part of it. */
  changes(): Promise<readonly FileChange[]>;
  /** sha256 over (path, mode, content) of the working tree, sorted; equal trees, equal hash. */
  treeHash(): Promise<string>;
  /** Tells the reaper that its activity is alive: the lease runs anew from `now`. Throws `lost` where it is no longer held. */
  renew(now: number): void;
  /** Idempotent; no process and no file is left. */
  destroy(): Promise<void>;
}

/** A sandbox as `SandboxRuntime.list` finds it. */
export interface SandboxInfo {
  readonly name: string;
  readonly runtime: SandboxRuntimeName;
  readonly identity: SandboxIdentity;
  /** Milliseconds since the epoch; of an adopted sandbox: when it was first made. */
  readonly created: number;
  /** `live`: its owner is at work; `orphaned`: no live owner, or its lease ran out; `expired`: past its deadline. */
  readonly state: "live" | "orphaned" | "expired";
}

export interface SandboxRuntime {
  readonly name: SandboxRuntimeName;
  /** Null when sandboxes can run here, else the reason and the remedy. */
  unavailable(): Promise<string | null>;
  create(spec: SandboxSpec, identity: SandboxIdentity): Promise<Sandbox>;
  /**
   * Takes the sandbox of `previous` over under a new identity. What still runs in it is killed, and every operation of its former holder
   * fails as `lost`. Undefined when there is none.
   */
  adopt(
    previous: Pick<SandboxIdentity, "slot" | "fence">,
    identity: SandboxIdentity,
  ): Promise<Sandbox | undefined>;
  /**
   * Removes what `judge` (life.ts) says: what has no live owner, whose lease ran out, or is past its deadline; returns how many. What may
   * be gone on with is left for `graceMs` from the reap that first found it so (none by default).
   */
  reap(filter: {
    readonly experiment?: string;
    readonly now: number;
    readonly graceMs?: number;
  }): Promise<number>;
  /** Every sandbox this host's records or the daemon know of; nothing is changed. */
  list(now: number): Promise<readonly SandboxInfo[]>;
  /** Removes every sandbox of a slot but that of the fence `keep`, whoever holds it; returns how many. */
  removeSlot(slot: Pick<SandboxIdentity, "experiment" | "slot">, keep?: string): Promise<number>;
}
