/** One sandbox of the process runtime: a folder on the host, and bubblewrap around each command. */
import { lstatSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import type { Writable } from "node:stream";
import type { FileChange } from "../../../core/task.ts";
import { checkCommand, checkFree, isHeld, renewLease } from "../held.ts";
import { commandEnv, MAX_ENTRIES, mountsIn, relativeTo, WORKDIR } from "../inside.ts";
import type { Owner } from "../label.ts";
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
import { changesBetween } from "../tree/change.ts";
import { hashManifest, type Manifest, TreeScanner } from "../tree/manifest.ts";
import { PosixError, type Root } from "../tree/resolve.ts";
import { bwrapArguments, type System } from "./command.ts";
import {
  type DiskUse,
  diskUse,
  listHostFiles,
  OutsideRoots,
  readHostFile,
  statHostFile,
  writeHostFile,
} from "./files.ts";
import { runBwrap, STATUS_FD, type Talk } from "./run.ts";

const MEGABYTE = 1024 * 1024;

/** The disk is looked at after this long, and never for more than a tenth of the time. */
const DISK_LOOK_MS = 100;

/** Limits of the commands that answer file calls outside the sandbox's folders. */
const FILE_LIMITS: ExecLimits = { timeoutSeconds: 30, outputBytes: 64 * MEGABYTE };

export interface BoxParts {
  readonly identity: SandboxIdentity;
  readonly spec: SandboxSpec;
  readonly system: System;
  readonly folder: string;
  readonly owner: Owner;
  /** The tree the sandbox was given. */
  readonly given: Manifest;
  readonly remove: (folder: string) => Promise<void>;
}

export class Box implements Sandbox {
  readonly workdir = WORKDIR;
  readonly identity: SandboxIdentity;
  private readonly parts: BoxParts;
  private readonly roots: readonly Root[];
  private readonly scanner: TreeScanner;
  private readonly tree: string;
  private readonly tmp: string;
  private current: Manifest | undefined;
  private running: { readonly abort: AbortController; readonly done: Promise<ExecResult> } | undefined;
  private destroyed: Promise<void> | undefined;
  /** At the last look while a command ran. */
  private isFull = false;

  constructor(parts: BoxParts) {
    this.parts = parts;
    this.identity = parts.identity;
    this.tree = `${parts.folder}/tree`;
    this.tmp = `${parts.folder}/tmp`;
    this.roots = [
      { at: WORKDIR, host: this.tree, writable: true },
      { at: "/tmp", host: this.tmp, writable: true },
      ...parts.spec.mounts.map(({ source, target }) => ({ at: target, host: source, writable: false })),
    ];
    this.scanner = new TreeScanner(this.tree, { skip: mountsIn(WORKDIR, parts.spec.mounts) });
  }

  async exec(argv: readonly string[], limits: ExecLimits): Promise<ExecResult> {
    return this.begin(argv, limits).done;
  }

  open(
    argv: readonly string[],
    limits: Omit<ExecLimits, "stdin" | "signal">,
    onStdout: (chunk: Uint8Array) => void,
  ): Session {
    let idle = false;
    let input: Writable | undefined;
    let cpuSeconds = () => 0;
    const onStart: Talk["onStart"] = (stdin, used) => {
      input = stdin;
      cpuSeconds = used;
    };
    const { abort, done } = this.begin(argv, limits, { onStdout, onStart, isIdle: () => idle });
    return {
      send: (bytes) => input?.write(bytes),
      cpuSeconds: () => cpuSeconds(),
      setIdle: (value) => {
        idle = value;
      },
      ended: done,
      kill: () => abort.abort(new SandboxError("destroyed", "the session was ended")),
    };
  }

  private begin(
    argv: readonly string[],
    limits: ExecLimits,
    talk?: Talk,
  ): { readonly abort: AbortController; readonly done: Promise<ExecResult> } {
    this.checkFree();
    checkCommand(argv);
    const abort = new AbortController();
    const signal = limits.signal ? AbortSignal.any([limits.signal, abort.signal]) : abort.signal;
    this.current = undefined;
    const done = this.start(argv, { ...limits, signal }, talk).finally(() => {
      this.running = undefined;
    });
    this.running = { abort, done };
    return this.running;
  }

  private async start(argv: readonly string[], limits: ExecLimits, talk?: Talk): Promise<ExecResult> {
    const { spec, system } = this.parts;
    this.restoreMountPoints();
    return runBwrap({
      bwrap: system.bwrap,
      args: bwrapArguments(
        system,
        { tree: this.tree, tmp: this.tmp },
        spec.mounts,
        STATUS_FD,
        { sandbox: spec.limits, exec: limits },
        argv,
      ),
      env: commandEnv(spec),
      limits,
      memoryBytes: spec.limits.memoryMb * MEGABYTE,
      processes: spec.limits.processes,
      diskFull: this.diskWatch(),
      ...(talk && { talk }),
    });
  }

  async read(path: string): Promise<Uint8Array> {
    this.checkFree();
    try {
      return readHostFile(this.roots, path);
    } catch (error) {
      if (!(error instanceof OutsideRoots)) throw error;
      const result = await this.exec(["cat", "--", error.inside], FILE_LIMITS);
      if (result.exitCode !== 0) throw posixErrorOf(result, path);
      if (result.stdoutTruncated) throw new PosixError("EFBIG", path);
      return result.stdout;
    }
  }

  async write(path: string, bytes: Uint8Array): Promise<void> {
    this.checkFree();
    const use = this.diskNow();
    this.current = undefined;
    const room = use.entries < MAX_ENTRIES ? this.parts.spec.limits.diskMb * MEGABYTE - use.bytes : -1;
    writeHostFile(this.roots, path, bytes, room);
  }

  async list(path: string): Promise<readonly FileEntry[]> {
    this.checkFree();
    try {
      return listHostFiles(this.roots, path);
    } catch (error) {
      if (!(error instanceof OutsideRoots)) throw error;
      const argv = ["find", error.inside, "-mindepth", "1", "-printf", "%y %p\\0"];
      const result = await this.exec(argv, FILE_LIMITS);
      if (result.stdout.length === 0 && result.exitCode !== 0) throw posixErrorOf(result, path);
      return parseFind(Buffer.from(result.stdout).toString("utf8"));
    }
  }

  async stat(path: string) {
    this.checkFree();
    try {
      return statHostFile(this.roots, path);
    } catch (error) {
      if (!(error instanceof OutsideRoots)) throw error;
      const result = await this.exec(["stat", "-L", "-c", "%s %F", "--", error.inside], FILE_LIMITS);
      if (result.exitCode !== 0) return null;
      const [, bytes, kind] = /^(\d+) (.*)/.exec(Buffer.from(result.stdout).toString("utf8")) ?? [];
      const type = kind?.startsWith("regular") ? "file" : kind === "directory" ? "directory" : "other";
      return { type, bytes: Number(bytes) } as const;
    }
  }

  async changes(): Promise<readonly FileChange[]> {
    return changesBetween(this.parts.given, await this.manifest(), this.tree);
  }

  async treeHash(): Promise<string> {
    return hashManifest(await this.manifest());
  }

  private async manifest(): Promise<Manifest> {
    this.checkFree();
    this.current ??= await this.scanner.scan();
    return this.current;
  }

  private checkFree(): void {
    checkFree(this.parts, this.running, this.destroyed);
  }

  renew(now: number): void {
    renewLease(this.parts, now);
  }

  destroy(): Promise<void> {
    this.destroyed ??= this.end();
    return this.destroyed;
  }

  private async end(): Promise<void> {
    this.running?.abort.abort(new SandboxError("destroyed", "the sandbox was destroyed"));
    await this.running?.done.catch(() => {});
    if (isHeld(this.parts)) await this.parts.remove(this.parts.folder);
  }

  /**
   * bwrap follows links on its way to a mount point, and it does so where the host is still in reach: every part of a
   * mount point inside the tree must be a real folder (the last one what is mounted there) before each command.
   */
  private restoreMountPoints(): void {
    for (const { source, target } of this.parts.spec.mounts) {
      if (!target.startsWith(`${WORKDIR}/`)) continue;
      const parts = relativeTo(WORKDIR, target).split("/");
      let host = this.tree;
      for (const [depth, part] of parts.entries()) {
        host += `/${part}`;
        const folder = depth < parts.length - 1 || statSync(source).isDirectory();
        const stat = lstatSync(host, { throwIfNoEntry: false });
        if (stat === undefined) folder ? mkdirSync(host) : writeFileSync(host, "", { flag: "wx" });
        else if (folder ? !stat.isDirectory() : !stat.isFile())
          throw new SandboxError("path", `${target} is a mount point, and something else lies there`);
      }
    }
  }

  private diskNow(): DiskUse {
    return diskUse([this.tree, this.tmp]);
  }

  /** True once the command has filled the disk; a disk that was full before may be emptied. */
  private diskWatch(): () => boolean {
    const limit = this.parts.spec.limits.diskMb * MEGABYTE;
    let next = performance.now() + DISK_LOOK_MS;
    // Without it the first look at a command that empties a full disk could not tell it from one that fills it.
    let before = this.isFull ? this.diskNow() : undefined;
    return () => {
      const start = performance.now();
      if (start < next) return false;
      const use = this.diskNow();
      next = performance.now() + Math.max(DISK_LOOK_MS, 10 * (performance.now() - start));
      const full = use.bytes > limit || use.entries > MAX_ENTRIES;
      const grew = before === undefined || use.bytes > before.bytes || use.entries > before.entries;
      before = use;
      this.isFull = full;
      return full && grew;
    };
  }
}

function posixErrorOf(result: ExecResult, path: string): PosixError {
  const text = Buffer.from(result.stderr).toString("utf8");
  const code = /Is a directory/.test(text)
    ? "EISDIR"
    : /Permission denied/.test(text)
      ? "EACCES"
      : /Not a directory/.test(text)
        ? "ENOTDIR"
        : "ENOENT";
  return new PosixError(code, path);
}

function parseFind(text: string): FileEntry[] {
  const types: Record<string, FileEntry["type"]> = { f: "file", d: "directory", l: "symlink" };
  return text.split("\0").flatMap((line) => {
    const type = types[line[0] ?? ""];
    return type === undefined ? [] : [{ path: relativeTo(WORKDIR, line.slice(2)), type }];
  });
}
