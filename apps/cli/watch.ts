/** Follows an experiment until it ends, on a terminal or as plain lines. Leaving it stops nothing. */
import type { ExperimentSettings } from "../../core/experiment.ts";
import { getExperiment, readProgress } from "../../services/store/index.ts";
import { outcome, type Session } from "../control/index.ts";
import { exitCodes } from "./errors.ts";
import { writeExperiment } from "./experiment-view.ts";
import { formatPercent, ProgressLine } from "./output.ts";
import { progressLine } from "./progress.ts";

/** Often enough to look alive; a snapshot costs a few milliseconds of the database. */
const POLL_MS = 1000;
/** Plain output, as in a log file: a line per this many polls at most, and at each change of phase. */
const PLAIN_EVERY = 15;

/** Shows progress until the experiment ends, then its result. Returns the exit code. */
export async function follow(session: Session, name: string, json: boolean): Promise<number> {
  const { settings } = await getExperiment(session.db, name);
  const view = new ProgressLine();
  const ended = outcome(session, name).then(
    (failure) => ({ failure }),
    (error: unknown) => ({ error }),
  );
  let shown = "";
  let evaluated = 0;
  for (let poll = 0; ; poll++) {
    const progress = await readProgress(session.db, name);
    if (progress !== null && !json) {
      for (const evaluation of progress.evaluations.slice(evaluated)) {
        if (evaluation.mode !== "sampled" && evaluation.mode !== "greedy") continue;
        view.note(
          `  iteration ${evaluation.iteration}: ${evaluation.set} (${evaluation.mode}) pass@1 ${formatPercent(evaluation.passAt1)} [${formatPercent(evaluation.low)}, ${formatPercent(evaluation.high)}] on ${evaluation.tasks} tasks`,
        );
      }
      evaluated = progress.evaluations.length;
      const line = progressLine(progress, settings as ExperimentSettings);
      view.draw([line]);
      const phase = `${progress.iteration} ${progress.phase}`;
      if (!view.live && (phase !== shown || poll % PLAIN_EVERY === 0)) view.note(line);
      shown = phase;
    }
    const result = await Promise.race([
      ended,
      new Promise<null>((resolve) => setTimeout(resolve, POLL_MS, null)),
    ]);
    if (result === null) continue;
    view.clear();
    if ("error" in result) throw result.error;
    if (result.failure !== null) {
      const message = `experiment ${name} failed: ${result.failure.reason}`;
      process.stderr.write(
        json ? `${JSON.stringify({ error: { kind: "experiment", message } })}\n` : `tadpole: ${message}\n`,
      );
      return result.failure.badInput ? exitCodes.badInput : exitCodes.failed;
    }
    await writeExperiment(session, name, json);
    return exitCodes.done;
  }
}
