/** The label of a sandbox on disk: whose it is, from what it was made, and which process holds it. */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { Life } from "./life.ts";
import { readStat } from "./process/watch.ts";
import type { SandboxIdentity, SandboxSpec } from "./runtime.ts";
import { sha256 } from "./tree/manifest.ts";

/** A process, named for good: pids come again, the pair does not. */
export interface Owner {
  readonly pid: number;
  readonly startTicks: string;
  /** Tells apart the holders of one sandbox within one process. */
  readonly holder: number;
}

export interface Label {
  readonly identity: SandboxIdentity;
  readonly spec: SandboxSpec;
}

const self = { pid: process.pid, startTicks: readStat("self")?.startTicks ?? "0" };
let counter = 0;

export const newOwner = (): Owner => ({ ...self, holder: ++counter });

export const isAlive = (owner: Pick<Owner, "pid" | "startTicks">): boolean =>
  readStat(owner.pid)?.startTicks === owner.startTicks;

/** Name of a folder in the making or in removal: `<kind>-<pid>-<start>-<n>`. */
export const ownerName = (kind: "new" | "old"): string =>
  `${kind}-${self.pid}-${self.startTicks}-${++counter}`;

/** True when the folder's name says that a process now dead was making or removing it. */
export function isAbandoned(name: string): boolean {
  const [, pid, startTicks] = /^(?:new|old)-(\d+)-(\d+)-\d+$/.exec(name) ?? [];
  return pid !== undefined && !isAlive({ pid: Number(pid), startTicks: startTicks! });
}

/** True when this process is the one that the folder's name tells of. */
export const isOwn = (name: string): boolean =>
  name.startsWith(`new-${self.pid}-${self.startTicks}-`) ||
  name.startsWith(`old-${self.pid}-${self.startTicks}-`);

/** Folder name of the sandbox of an attempt. */
export const sandboxName = (identity: Pick<SandboxIdentity, "slot" | "fence">): string =>
  sha256(`${identity.slot}\0${identity.fence}`).slice(0, 24);

export const readLabel = (folder: string): Label | undefined => readJson(`${folder}/label.json`);
export const readOwner = (folder: string): Owner | undefined => readJson(`${folder}/owner.json`);
export const writeLabel = (folder: string, label: Label): void => writeJson(`${folder}/label.json`, label);
export const writeOwner = (folder: string, owner: Owner): void => writeJson(`${folder}/owner.json`, owner);

/** Milliseconds since the epoch at which a reap first found the sandbox without an owner. */
const readOrphaned = (folder: string): number | undefined => readJson(`${folder}/orphaned.json`);
export const writeOrphaned = (folder: string, now: number): void => writeJson(`${folder}/orphaned.json`, now);
export const clearOrphaned = (folder: string): void => rmSync(`${folder}/orphaned.json`, { force: true });

/** Milliseconds since the epoch at which the sandbox's activity last said that it lives. */
const readLease = (folder: string): number | undefined => readJson(`${folder}/lease.json`);
export const writeLease = (folder: string, now: number): void => writeJson(`${folder}/lease.json`, now);

/** The folder of a sandbox that was taken over becomes this process's, as if it had just been made. */
export function takeOver(folder: string, label: Label): Owner {
  const owner = newOwner();
  writeLabel(folder, label);
  writeOwner(folder, owner);
  rmSync(`${folder}/lease.json`, { force: true });
  clearOrphaned(folder);
  return owner;
}

/** What the folder records of the life of the sandbox with that identity. A missing owner is a dead one. */
export function readLife(folder: string, identity: SandboxIdentity): Life {
  const owner = readOwner(folder);
  return {
    identity,
    ownerAlive: owner !== undefined && isAlive(owner),
    lease: readLease(folder),
    orphaned: readOrphaned(folder),
  };
}

function readJson<T>(path: string): T | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

function writeJson(path: string, value: unknown): void {
  const staging = `${path}.${ownerName("new")}`;
  writeFileSync(staging, JSON.stringify(value));
  renameSync(staging, path);
}
