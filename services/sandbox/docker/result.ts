/** What a command's end means for its result. Pure. */
import { constants } from "node:os";
import type { ExecLimits } from "../runtime.ts";
import type { Ending } from "./frames.ts";

/** Which limits it met. Undefined: the channel was lost before its end was told. */
export function outcome(ending: Ending | undefined, limits: Pick<ExecLimits, "cpuSeconds">) {
  const cpuSeconds = ending?.cpuSeconds ?? 0;
  const overCpu = cpuSeconds > (limits.cpuSeconds ?? Number.POSITIVE_INFINITY);
  const byLimit = ending?.code === 128 + constants.signals.SIGXCPU;
  return {
    cpuSeconds,
    cpuExceeded: overCpu || byLimit,
    outOfMemory: (ending?.killed ?? 0) > 0,
    ...((ending?.refused ?? 0) > 0 && { tooManyProcesses: true }),
    ...(ending?.full && { diskFull: true }),
  };
}
