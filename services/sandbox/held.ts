/** Whether a sandbox is still its holder's: its folder on the host says whose it is. */
import { type Owner, readOwner, writeLease } from "./label.ts";
import { SandboxError } from "./runtime.ts";

export interface Hold {
  readonly folder: string;
  readonly owner: Owner;
}

const takenAway = (cause?: unknown): SandboxError =>
  new SandboxError("lost", "the sandbox was removed or adopted by another process", { cause });

/** False once the folder was removed or another holder adopted it. */
export function isHeld({ folder, owner }: Hold): boolean {
  const now = readOwner(folder);
  return now?.pid === owner.pid && now.startTicks === owner.startTicks && now.holder === owner.holder;
}

/** Throws SandboxError `destroyed`, `lost`. */
export function checkHeld(hold: Hold, destroyed: Promise<void> | undefined, cause?: unknown): void {
  if (destroyed !== undefined) throw new SandboxError("destroyed", "the sandbox was destroyed");
  if (!isHeld(hold)) throw takenAway(cause);
}

/** Throws SandboxError `destroyed`, `busy`, `lost`. */
export function checkFree(
  hold: Hold,
  running: object | undefined,
  destroyed: Promise<void> | undefined,
): void {
  if (destroyed === undefined && running !== undefined)
    throw new SandboxError("busy", "a command is running; a sandbox does one thing at a time");
  checkHeld(hold, destroyed);
}

/** Throws SandboxError `path`. */
export function checkCommand(argv: readonly string[]): void {
  if (argv.length === 0 || argv.some((word) => word.includes("\0")))
    throw new SandboxError("path", "a command needs at least one word, and none with a NUL byte");
}

/** Throws SandboxError `lost`. */
export function renewLease(hold: Hold, now: number): void {
  if (!isHeld(hold)) throw takenAway();
  try {
    writeLease(hold.folder, now);
  } catch (error) {
    // Removed or adopted since the look.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw takenAway(error);
  }
}
