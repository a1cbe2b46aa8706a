/** The process runtime: sandboxes as folders, commands in bubblewrap. Needs no daemon and no root. */
import { execFile } from "node:child_process";
import { chmodSync, constants, copyFileSync, lstatSync, mkdirSync, renameSync, symlinkSync } from "node:fs";
import { rm } from "node:fs/promises";
import { setImmediate as breathe, setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { mountsIn, refuseUnderMounts, WORKDIR } from "../inside.ts";
import {
  isAbandoned,
  newOwner,
  ownerName,
  readLabel,
  sandboxName,
  takeOver,
  writeLabel,
  writeOwner,
} from "../label.ts";
import {
  infoOf,
  isPastUse,
  isSandboxName,
  listFolder,
  namesOfSlot,
  notMade,
  renameIfThere,
} from "../records.ts";
import {
  type Sandbox,
  SandboxError,
  type SandboxIdentity,
  type SandboxInfo,
  type SandboxRuntime,
  type SandboxSpec,
} from "../runtime.ts";
import { applyChanges, applyToManifest, makeParents } from "../tree/change.ts";
import type { Manifest } from "../tree/manifest.ts";
import { RootManifests } from "../tree/roots.ts";
import { Box } from "./box.ts";
import type { System } from "./command.ts";
import { findSystem, type SystemOptions } from "./system.ts";
import { inhabitantsOf } from "./watch.ts";

const run = promisify(execFile);

const FILES_PER_TURN = 200;

/** The kernel may still be freeing gigabytes. */
const KILL_MS = 10_000;
const KILL_LOOK_MS = 5;

export type ProcessRuntimeOptions = SystemOptions;

export function createProcessRuntime(options: ProcessRuntimeOptions): SandboxRuntime {
  return new ProcessRuntime(options);
}

class ProcessRuntime implements SandboxRuntime {
  readonly name = "process";
  private readonly options: ProcessRuntimeOptions;
  private readonly roots = new RootManifests();
  private found: System | undefined;

  constructor(options: ProcessRuntimeOptions) {
    this.options = options;
  }

  private system(): System {
    this.found ??= findSystem(this.options);
    return this.found;
  }

  async unavailable(): Promise<string | null> {
    try {
      const system = this.system();
      await run(system.bwrap, [
        "--unshare-all",
        "--unshare-user",
        "--disable-userns",
        "--ro-bind",
        "/",
        "/",
        "true",
      ]);
      return null;
    } catch (error) {
      return explain(error);
    }
  }

  async create(spec: SandboxSpec, identity: SandboxIdentity): Promise<Sandbox> {
    if (spec.image !== undefined)
      throw new SandboxError(
        "unavailable",
        `sandboxes of bubblewrap have no images (${spec.image.reference}): set sandbox.runtime to docker`,
      );
    const system = this.system();
    const { root } = this.options;
    const staging = `${root}/${ownerName("new")}`;
    const folder = `${root}/${sandboxName(identity)}`;
    try {
      const base = await this.manifestOf(spec);
      mkdirSync(`${staging}/tree`, { recursive: true, mode: 0o700 });
      mkdirSync(`${staging}/tmp`);
      await copyTree(spec.root, `${staging}/tree`, base);
      refuseUnderMounts(WORKDIR, spec);
      applyChanges(`${staging}/tree`, spec.overlay);
      const given = applyToManifest(base, spec.overlay);
      const owner = newOwner();
      writeLabel(staging, { identity, spec });
      writeOwner(staging, owner);
      await this.remove(folder);
      renameSync(staging, folder);
      return new Box({ identity, spec, system, folder, owner, given, remove: (path) => this.remove(path) });
    } catch (error) {
      await this.remove(staging);
      throw notMade(error);
    }
  }

  async adopt(
    previous: Pick<SandboxIdentity, "slot" | "fence">,
    identity: SandboxIdentity,
  ): Promise<Sandbox | undefined> {
    const { root } = this.options;
    const name = sandboxName(previous);
    const folder = `${root}/${sandboxName(identity)}`;
    const label = readLabel(`${root}/${name}`);
    if (label === undefined) return undefined;
    const { spec } = label;
    const given = applyToManifest(await this.manifestOf(spec), spec.overlay);
    const takenName = ownerName("new");
    const taken = `${root}/${takenName}`;
    // Renamed first: from here on the former holder finds no sandbox of its own any more.
    if (!renameIfThere(`${root}/${name}`, taken)) return undefined;
    try {
      // The kernel names their mounts by where the folder is now.
      if (!(await killInhabitants(takenName)))
        throw new SandboxError("lost", "what a former holder ran in the sandbox does not end");
      const owner = takeOver(taken, { identity, spec });
      renameSync(taken, folder);
      const remove = (path: string) => this.remove(path);
      return new Box({ identity, spec, system: this.system(), folder, owner, given, remove });
    } catch (error) {
      await this.remove(taken);
      throw notMade(error);
    }
  }

  async reap(filter: {
    readonly experiment?: string;
    readonly now: number;
    readonly graceMs?: number;
  }): Promise<number> {
    let removed = 0;
    for (const name of listFolder(this.options.root)) {
      if (!isAbandoned(name) && !isPastUse(this.options.root, name, filter)) continue;
      await this.evict(name);
      removed++;
    }
    return removed;
  }

  async list(now: number): Promise<readonly SandboxInfo[]> {
    const { root } = this.options;
    const names = listFolder(root).filter(isSandboxName);
    return names.flatMap((name) => infoOf(root, name, this.name, now) ?? []);
  }

  async removeSlot(slot: Pick<SandboxIdentity, "experiment" | "slot">, keep?: string): Promise<number> {
    const { root } = this.options;
    const names = namesOfSlot(root, slot, keep);
    for (const name of names) await this.evict(name);
    return names.length;
  }

  /** An owner killed at the moment it started a command may leave that command. */
  private async evict(name: string): Promise<void> {
    await killInhabitants(name);
    await this.remove(`${this.options.root}/${name}`);
  }

  private manifestOf(spec: SandboxSpec): Promise<Manifest> {
    return this.roots.of(spec.root, mountsIn(WORKDIR, spec.mounts));
  }

  /** Out of sight first, so that a half-removed sandbox is never found. */
  private async remove(folder: string): Promise<void> {
    const old = `${this.options.root}/${ownerName("old")}`;
    if (!renameIfThere(folder, old)) return;
    try {
      await rm(old, { recursive: true, force: true });
    } catch {
      // Folders without permissions and names that are not UTF-8: what the system's own tools handle.
      await run("chmod", ["-R", "u+rwX", old]).catch(() => {});
      await run("rm", ["-rf", "--", old]);
    }
  }
}

/**
 * Kills what lives in the sandbox of that name, and waits for its end: a process that is killed in the middle of a write still makes it, and one
 * that was just starting another leaves it behind. False where something lives on.
 */
async function killInhabitants(name: string): Promise<boolean> {
  const late = Date.now() + KILL_MS;
  for (;;) {
    const pids = inhabitantsOf(name);
    if (pids.length === 0) return true;
    if (Date.now() > late) return false;
    for (const pid of pids) killIfAlive(pid);
    await sleep(KILL_LOOK_MS);
  }
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Copies the files of a manifest; shares their blocks where the file system can. */
async function copyTree(from: string, to: string, manifest: Manifest): Promise<void> {
  let copied = 0;
  const made = new Set<string>();
  for (const [path, entry] of manifest) {
    if (++copied % FILES_PER_TURN === 0) await breathe();
    const parent = path.slice(0, Math.max(0, path.lastIndexOf("/")));
    if (!made.has(parent)) makeParents(to, path);
    made.add(parent);
    if (entry.type === "symlink") symlinkSync(entry.target, `${to}/${path}`);
    else {
      copyFileSync(`${from}/${path}`, `${to}/${path}`, constants.COPYFILE_FICLONE);
      chmodSync(`${to}/${path}`, entry.executable ? 0o755 : 0o644);
    }
  }
}

/** One sentence: what is missing and the one command that mends it. */
function explain(error: unknown): string {
  if (error instanceof SandboxError) return error.message;
  const text = String((error as { stderr?: string }).stderr || error).trim();
  if (/user namespace|Operation not permitted|Permission denied|No space left/i.test(text)) {
    const remedy = lstatSync("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", {
      throwIfNoEntry: false,
    })
      ? "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
      : lstatSync("/proc/sys/kernel/unprivileged_userns_clone", { throwIfNoEntry: false })
        ? "sysctl -w kernel.unprivileged_userns_clone=1"
        : "sysctl -w user.max_user_namespaces=15000";
    return `user namespaces are not allowed here (${text}); type: ${remedy}`;
  }
  if (/unrecognized|Unknown option/i.test(text))
    return `bubblewrap is older than 0.8 (${text}); type: apt-get install --only-upgrade bubblewrap`;
  return `bubblewrap does not run here: ${text}`;
}
