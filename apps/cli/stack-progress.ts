/** Tells how the stack comes up, a line per process. */
import type { StackProgress } from "../../infra/stack/index.ts";
import { formatSeconds, ProgressLine } from "./output.ts";

const width = 12;

/** For `ensureStack`; silent with `--json`. */
export function stackProgress(json: boolean, progress = new ProgressLine()): (change: StackProgress) => void {
  if (json) return () => {};
  return ({ process, phase, seconds, problem }) => {
    const name = process.padEnd(width);
    if (phase === "ready") progress.note(`✓ ${name} ready after ${formatSeconds(seconds)}`);
    else if (phase === "external") progress.note(`✓ ${name} runs elsewhere`);
    else if (phase === "backoff") progress.note(`… ${name} starts again: ${problem?.split("\n")[0]}`);
    else if (phase === "failed") progress.note(`✗ ${name} failed`);
  };
}
