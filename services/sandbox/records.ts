/** The folder of a runtime's records: one folder per sandbox, named by slot and fence, whatever the sandbox itself is. */
import { readdirSync, renameSync, statSync } from "node:fs";
import { clearOrphaned, readIdentity, readLife, readOwner, writeOrphaned } from "./label.ts";
import { judge, stateOf } from "./life.ts";
import { SandboxError, type SandboxIdentity, type SandboxInfo } from "./runtime.ts";

const SANDBOX_NAME = /^[0-9a-f]{24}$/;

export const isSandboxName = (name: string): boolean => SANDBOX_NAME.test(name);

/** Empty where there is no such folder. */
export function listFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** False where there is no `from`: somebody else has taken or removed it. */
export function renameIfThere(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

/** What a reap that looks at `name` does: true = remove it. Notes when it first found it without an owner. */
export function isPastUse(
  root: string,
  name: string,
  { experiment, now, graceMs = 0 }: { experiment?: string; now: number; graceMs?: number },
): boolean {
  if (!isSandboxName(name)) return false;
  const folder = `${root}/${name}`;
  const identity = readIdentity(folder);
  if (identity === undefined || readOwner(folder) === undefined) return true;
  if (experiment !== undefined && identity.experiment !== experiment) return false;
  const life = readLife(folder, identity);
  const verdict = judge(life, now, graceMs);
  try {
    if (verdict === "wait" && life.orphaned === undefined) writeOrphaned(folder, now);
    // It was found alive again: a later end begins its own wait.
    if (verdict === "keep" && life.orphaned !== undefined) clearOrphaned(folder);
  } catch (error) {
    // Adopted or removed between the looks.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  return verdict === "orphaned" || verdict === "expired";
}

/** The sandbox whose folder that is; undefined where it is going or gone. */
export function infoOf(
  root: string,
  name: string,
  runtime: SandboxInfo["runtime"],
  now: number,
): SandboxInfo | undefined {
  const folder = `${root}/${name}`;
  const identity = readIdentity(folder);
  // Whoever takes a sandbox over renames its folder, which stays the one that was made.
  const made = statSync(folder, { throwIfNoEntry: false });
  if (identity === undefined || made === undefined) return undefined;
  const state = stateOf(readLife(folder, identity), now);
  return { name, runtime, identity, created: Math.round(made.birthtimeMs), state };
}

/** Names of the sandboxes of a slot but that of the fence `keep`. */
export function namesOfSlot(
  root: string,
  slot: Pick<SandboxIdentity, "experiment" | "slot">,
  keep?: string,
): string[] {
  return listFolder(root).filter((name) => {
    const identity = isSandboxName(name) ? readIdentity(`${root}/${name}`) : undefined;
    return identity?.slot === slot.slot && identity.experiment === slot.experiment && identity.fence !== keep;
  });
}

/** What failed while a sandbox was made, as SandboxError. */
export function notMade(error: unknown): SandboxError {
  if (error instanceof SandboxError) return error;
  const { code } = error as NodeJS.ErrnoException;
  return new SandboxError(code === "ENOSPC" ? "disk" : "boot", `the sandbox was not made: ${error}`, {
    cause: error,
  });
}
