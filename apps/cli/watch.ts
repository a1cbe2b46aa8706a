/** Follows an experiment until it ends, on a terminal or as plain lines. Leaving it stops nothing. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Progress } from "../../services/store/index.ts";
import {
  experimentProgress,
  experimentSettings,
  isRunning,
  outcome,
  type Session,
} from "../control/index.ts";
import { exitCodes } from "./errors.ts";
import { writeExperiment } from "./experiment-view.ts";
import { formatPercent, ProgressLine } from "./output.ts";
import { progressLine } from "./progress.ts";
import { holdLine } from "./steering-view.ts";

/** Often enough to look alive; a snapshot costs a few milliseconds of the database. */
const POLL_MS = 1000;
/** Plain output, as in a log file: a line per this many polls at most, and at each change of phase. */
const PLAIN_EVERY = 15;

/** Every so many polls Temporal is asked too: a workflow that was terminated there, or never started, records nothing. */
const DESCRIBE_EVERY = 5;
/** Looks in a row that must find nothing at work: somebody else may be between the record and the start. */
const IDLE_LOOKS = 2;
/** How long a stack may be away, restarting or killed, before following it is given up. */
const PATIENCE_MS = 120_000;

/** Shows progress until the experiment ends, then its result. Returns the exit code. */
export async function follow(session: Session, name: string, json: boolean): Promise<number> {
  const settings = await experimentSettings(session, name);
  const view = new ProgressLine();
  process.once("SIGINT", () => {
    view.clear();
    process.stderr.write(
      `left ${name} running: the same command joins it again, tadpole down stops the stack\n`,
    );
    process.exit(130);
  });
  let shown = "";
  let evaluated = 0;
  let idle = 0;
  let lastSeen = Date.now();
  for (let poll = 0; ; poll++) {
    try {
      const found = await experimentProgress(session, name);
      if (found !== null && !json) {
        const { progress, hold } = found;
        const evaluations = progress.evaluations.filter(
          ({ mode }) => mode === "sampled" || mode === "greedy",
        );
        for (const evaluation of evaluations.slice(evaluated)) view.note(evaluationLine(evaluation));
        evaluated = evaluations.length;
        const line = hold === null ? progressLine(progress, settings) : holdLine(hold.reason, name);
        view.draw([line]);
        const phase = hold === null ? `${progress.iteration} ${progress.phase}` : line;
        if (!view.live && (phase !== shown || poll % PLAIN_EVERY === 0)) view.note(line);
        shown = phase;
      }
      if (idle > 0 || poll % DESCRIBE_EVERY === 0) idle = (await isRunning(session, name)) ? 0 : idle + 1;
      const over = found?.progress.status !== "running" || idle === IDLE_LOOKS;
      lastSeen = Date.now();
      if (over) break;
    } catch (error) {
      if (Date.now() - lastSeen > PATIENCE_MS) throw error;
      view.draw([
        `waiting for the stack: ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`,
      ]);
    }
    await sleep(POLL_MS);
  }
  view.clear();
  const failure = await outcome(session, name);
  if (failure === null) {
    await writeExperiment(session, name, json);
    if (!json)
      view.note(
        `Next: tadpole report ${name} (one HTML page); tadpole down stops the stack, which still runs.`,
      );
    return exitCodes.done;
  }
  const message = `experiment ${name} failed: ${failure.reason}`;
  process.stderr.write(
    json ? `${JSON.stringify({ error: { kind: "experiment", message } })}\n` : `tadpole: ${message}\n`,
  );
  return failure.badInput ? exitCodes.badInput : exitCodes.failed;
}

function evaluationLine({
  iteration,
  set,
  mode,
  passAt1,
  low,
  high,
  tasks,
}: Progress["evaluations"][number]): string {
  return `  iteration ${iteration}: ${set} (${mode}) pass@1 ${formatPercent(passAt1)} [${formatPercent(low)}, ${formatPercent(high)}] on ${tasks} tasks`;
}
