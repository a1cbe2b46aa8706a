/** The removal of a sandbox: its folder put aside, then its container, then the folder's files. One that failed is found by that folder. */
import { statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { isAbandoned, isOwn, ownerName } from "../label.ts";
import { isSandboxName, renameIfThere } from "../records.ts";
import type { Place } from "./place.ts";
import { readRecord } from "./record.ts";

/** A removal that took longer than this has failed, whosever it is: a call of the daemon ends after two minutes. */
const REMOVAL_MS = 5 * 60_000;

/** Folders put aside whose removal this process is at. */
const removals = new Set<string>();

/** Nothing to remove is well. */
export async function removeSandbox(place: Place, folder: string): Promise<void> {
  const name = folder.slice(folder.lastIndexOf("/") + 1);
  const aside = putAside(place, folder);
  // Without a record its maker died between making the container and noting it down: then it has the folder's name.
  if (aside !== undefined)
    await removeAside(place, aside, isSandboxName(name) ? place.containerName(name) : undefined);
}

/** The folder out of sight first, so that a half-removed sandbox is never found. Undefined where there is none. */
export function putAside({ root }: Place, folder: string): string | undefined {
  const aside = `${root}/${ownerName("old")}`;
  return renameIfThere(folder, aside) ? aside : undefined;
}

/** The container, then the folder's files: a reap that finds the folder tries again. */
export async function removeAside(place: Place, aside: string, container?: string): Promise<void> {
  removals.add(aside);
  try {
    const id = readRecord(aside)?.id ?? container;
    if (id !== undefined) await place.daemon.remove(id);
    // Not at once: on a busy disk it takes a while, and the process has other sandboxes.
    await rm(aside, { recursive: true, force: true });
  } finally {
    removals.delete(aside);
  }
}

/** Put aside, and nobody is at its removal: that failed, or its process died. Another process's is left to it for a while. */
export function isStuck({ root }: Place, name: string): boolean {
  const folder = `${root}/${name}`;
  if (!name.startsWith("old-") || removals.has(folder)) return false;
  if (isAbandoned(name) || isOwn(name)) return true;
  const moved = statSync(folder, { throwIfNoEntry: false })?.ctimeMs;
  return moved !== undefined && Date.now() - moved > REMOVAL_MS;
}
