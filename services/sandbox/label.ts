/** The label of a sandbox on disk: whose it is, from what it was made, and which process holds it. */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
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

/** Whose it is. The spec lies beside it: it holds the contents of files, and whoever only looks at sandboxes need not read them. */
export const readIdentity = (folder: string): SandboxIdentity | undefined =>
  readJson<Pick<Label, "identity">>(`${folder}/label.json`)?.identity;

export function readLabel(folder: string): Label | undefined {
  const label = readJson<Pick<Label, "identity"> & Partial<Label>>(`${folder}/label.json`);
  // Older sandboxes have it in the label.
  const spec = readJson<SandboxSpec>(`${folder}/spec.json`) ?? label?.spec;
  return label === undefined || spec === undefined ? undefined : { identity: label.identity, spec };
}

export const readOwner = (folder: string): Owner | undefined => readJson(`${folder}/owner.json`);
export function writeLabel(folder: string, { identity, spec }: Label): void {
  // The same for whoever takes the sandbox over.
  if (!existsSync(`${folder}/spec.json`)) writeJson(`${folder}/spec.json`, spec);
  writeJson(`${folder}/label.json`, { identity });
}

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
