/** What a command's end means for its result. Pure. */
import { constants } from "node:os";
import type { ExecLimits, ExecResult } from "../runtime.ts";
import type { Ending } from "./frames.ts";

export const KILLED = 128 + constants.signals.SIGKILL;

/** 128 + n stands for signal n, as in every shell. */
export function decode(code: number): Pick<ExecResult, "exitCode" | "signal"> {
  const signal = code > 128 ? signalNames.get(code - 128) : undefined;
  return signal === undefined ? { exitCode: code, signal: null } : { exitCode: null, signal };
}

const signalNames = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

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
