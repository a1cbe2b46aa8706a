/** The result of an experiment as people and programs see it. */
import { VALIDATION_SET } from "../../core/experiment.ts";
import { experimentId } from "../../core/ids.ts";
import { attributeFilter } from "../../core/search-attributes.ts";
import { stackStatus } from "../../infra/stack/index.ts";
import { type ExperimentSummary, evaluationOf } from "../../services/store/index.ts";
import { type Session, showExperiment } from "../control/index.ts";
import { formatPercent, formatSeconds, formatTable, writeJson, writeLine } from "./output.ts";

/** `53.1 % [45.0 %, 61.2 %]`. */
function rate(
  evaluation: { readonly passAt1: number; readonly low: number; readonly high: number } | undefined | null,
): string | null {
  if (evaluation == null) return null;
  return `${formatPercent(evaluation.passAt1)} [${formatPercent(evaluation.low)}, ${formatPercent(evaluation.high)}]`;
}

function iterationName({ iteration, stale }: ExperimentSummary["iterations"][number]): string {
  if (iteration === 0) return "0 (untrained)";
  return stale ? `${iteration} (stale)` : String(iteration);
}

/** One row per iteration: pooled held-out pass@1 with its interval, each set, greedy. */
export function evaluationTable(summary: ExperimentSummary): string {
  const sets = [
    ...new Set(
      summary.iterations.flatMap(({ evaluations }) => evaluations.map((evaluation) => evaluation.set)),
    ),
  ].filter((set) => set !== VALIDATION_SET);
  return formatTable(summary.iterations, [
    { title: "iteration", value: iterationName },
    { title: "held-out pass@1 [95 %]", value: ({ evaluation }) => rate(evaluation) },
    { title: "tasks", align: "right", value: ({ evaluation }) => evaluation?.tasks ?? null },
    { title: "greedy", value: ({ greedy }) => rate(greedy) },
    ...sets.map((set) => ({
      title: set,
      value: (iteration: ExperimentSummary["iterations"][number]) => {
        const found = evaluationOf(iteration, set, "sampled");
        return found === undefined ? null : formatPercent(found.passAt1);
      },
    })),
    {
      title: "pool (admitted/dropped/refined)",
      value: ({ pool }) => (pool === null ? null : `${pool.admitted}/${pool.dropped}/${pool.refined}`),
    },
    { title: "policy", value: ({ policy }) => policy?.id ?? null },
  ]);
}

/** One line per iteration that was replayed, and what to do about one that failed. */
function replayLines(name: string, { iterations, status }: ExperimentSummary): string[] {
  const replayed = iterations.flatMap(({ iteration, try: attempt, pieces }) => {
    if (attempt === 1) return [];
    const counts =
      pieces === null ? "" : `: ${pieces.reused} pieces re-used from earlier tries, ${pieces.made} made`;
    return [`iteration ${iteration} is try ${attempt}${counts}`];
  });
  const stale = iterations.filter((iteration) => iteration.stale).map(({ iteration }) => iteration);
  if (stale.length > 0)
    replayed.push(
      `stale, begun from what a replay has replaced since: ${stale.join(", ")}; tadpole run with the same file and name runs them again`,
    );
  const last = iterations.findLast((iteration) => !iteration.stale);
  if (status === "failed" && last !== undefined && last.iteration > 0)
    replayed.push(
      `after the mend: tadpole replay ${name} ${last.iteration} (--dry-run shows what it re-uses)`,
    );
  return replayed;
}

export async function writeExperiment(session: Session, name: string, json: boolean): Promise<void> {
  const summary = await showExperiment(session, name);
  if (json) return writeJson(summary);
  writeLine(
    `experiment ${name} · seed ${summary.seed} · ${summary.status}${summary.error === null ? "" : `: ${summary.error}`}`,
  );
  writeLine();
  if (summary.iterations.length > 0) writeLine(evaluationTable(summary));
  for (const line of replayLines(name, summary)) writeLine(line);
  writeLine();
  writeLine(`${summary.rollouts} rollouts in ${formatSeconds(summary.timings.seconds)}`);
  if (summary.policy !== null) writeLine(`policy ${summary.policy.id} · sha256 ${summary.policy.sha256}`);
  const { cpu } = stackStatus(session.stack.dataFolder);
  writeLine(
    `CPU of this stack so far: ${formatSeconds(cpu.totalSeconds)}, of which Temporal and Postgres ${formatPercent(cpu.infrastructureShare)}`,
  );
  const links = workflowLink(session, name);
  if (links !== null) writeLine(`Temporal UI: ${links}`);
}

/** Where the Temporal UI shows the experiment's workflows; null for a cluster whose UI is not known. */
export function workflowLink(session: Session, name: string): string | null {
  const { ui, namespace } = session.stack.temporal;
  if (ui === null) return null;
  return `${ui}/namespaces/${namespace}/workflows/${encodeURIComponent(experimentId(name))}`;
}

/** The list of the experiment's workflows, of those alone that run where asked for (docs/temporal-ui.md has more filters); null as above. */
export function listLink(session: Session, name: string, running = false): string | null {
  const { ui, namespace } = session.stack.temporal;
  if (ui === null) return null;
  const query = `${attributeFilter({ experiment: name })}${running ? ' AND ExecutionStatus = "Running"' : ""}`;
  return `${ui}/namespaces/${namespace}/workflows?query=${encodeURIComponent(query)}`;
}
