/** An evaluation that was asked for: followed to its end, and as people and programs see it. */
import { setTimeout as sleep } from "node:timers/promises";
import { type EvaluationId, type EvaluationState, evaluationState, type Session } from "../control/index.ts";
import { type ExitCode, exitCodes } from "./errors.ts";
import { formatPercent, writeJson, writeLine } from "./output.ts";

const POLL_MS = 1000;

export async function followEvaluation(session: Session, id: EvaluationId): Promise<EvaluationState> {
  for (;;) {
    const state = await evaluationState(session, id);
    if (state.status !== "running") return state;
    await sleep(POLL_MS);
  }
}

export function writeEvaluation(state: EvaluationState, json: boolean): void {
  if (json) {
    writeJson(state);
    return;
  }
  const { policy, set, mode, status, result, error } = state;
  writeLine(
    result === null
      ? `${policy} on ${set} (${mode}): ${status}${error === null ? "" : `: ${error}`}`
      : `${policy} on ${set}: pass@1 ${formatPercent(result.pass_at_1)} [${formatPercent(result.low)}, ${formatPercent(result.high)}] (95 %), ${result.tasks} tasks × ${result.samples}`,
  );
}

export const evaluationExit = ({ status }: EvaluationState): ExitCode =>
  status === "failed" ? exitCodes.failed : exitCodes.done;
