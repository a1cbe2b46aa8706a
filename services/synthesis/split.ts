/** The held-out split: which functions are never trained on. Fixed by a hash, for every experiment and every seed. */
import { createHash } from "node:crypto";
import type { Brief } from "./types.ts";

/** `<package>#<file>#<function>`: the unit of the split. `packageName` carries no version, so an update moves nothing. */
export function functionKey(packageName: string, file: string, functionName: string): string {
  return `${packageName}#${file}#${functionName}`;
}

/** True for about `share` (0..1) of all keys. A function held out at one share is held out at every larger one. */
export function isHeldOut(key: string, share: number): boolean {
  const digest = createHash("sha256").update(`held-out\n${key}`).digest();
  return digest.readUIntBE(0, 6) / 2 ** 48 < share;
}

/** Whether the brief allows a change of this function. */
export function mayChange(key: string, brief: Brief): boolean {
  if (brief.functions === "all") return true;
  return isHeldOut(key, brief.heldOutShare) === (brief.functions === "held-out");
}
