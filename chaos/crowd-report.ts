/** What became of the rollouts that a kill of their worker interrupted, beside what `compare` says of both runs. */
import type { SandboxRuntimeName } from "../core/experiment.ts";
import { type ChaosReport, compare, exitCodeOf, renderReport } from "./compare.ts";
import type { CrowdKill, Return } from "./crowd.ts";
import type { RunReport } from "./run.ts";

export interface CrowdReport {
  readonly runtime: SandboxRuntimeName;
  /** Sandboxes of rollouts: how many had to live at the kill, how many did, and how many of those went with the worker. */
  readonly asked: number;
  readonly live: number;
  readonly gone: number;
  readonly returns: Readonly<Record<Return, number>>;
  /** Interrupted rollouts that are not on record at the end. */
  readonly lost: readonly string[];
  /** Interrupted rollouts that are scored 0 where the undisturbed ones are scored 1. */
  readonly scoredZero: readonly string[];
  /** What a reap still found when the experiment had ended. */
  readonly reaped: number;
  readonly runs: ChaosReport;
}

type Crowd = Pick<CrowdKill, "killed" | "live" | "interrupted" | "gone" | "returns">;

export function crowdReport(
  {
    seed,
    runtime,
    live: asked,
  }: { readonly seed: number; readonly runtime: SandboxRuntimeName; readonly live: number },
  crowd: Crowd,
  undisturbed: RunReport,
  disturbed: RunReport,
): CrowdReport {
  const killed = crowd.killed === null ? [] : [crowd.killed];
  const runs = compare(seed, undisturbed, disturbed, {
    ...{ planned: 1, killsLeft: 1 - killed.length, killed, outages: [], plannedOutages: 0 },
  });
  const before = undisturbed.record.rollouts;
  const after = disturbed.record.rollouts;
  const lost = crowd.interrupted.filter((slot) => !after.has(slot));
  const scoredZero = crowd.interrupted.filter(
    (slot) => before.get(slot)?.raw_reward === "1" && after.get(slot)?.raw_reward === "0",
  );
  const count = (how: Return) => [...crowd.returns.values()].filter((found) => found === how).length;
  const problems = [
    ...(crowd.live < asked ? [`only ${crowd.live} of ${asked} sandboxes lived at once`] : []),
    ...lost.map((slot) => `interrupted and lost: ${slot}`),
    ...scoredZero.map((slot) => `interrupted and scored 0, undisturbed 1: ${slot}`),
  ];
  return {
    ...{ runtime, asked, live: crowd.live, gone: crowd.gone.length },
    returns: { adopted: count("adopted"), replayed: count("replayed"), anew: count("anew") },
    ...{ lost, scoredZero, reaped: disturbed.reaped },
    runs: { ...runs, problems: [...problems, ...runs.problems] },
  };
}

export const crowdExitCode = ({ runs }: CrowdReport): number => exitCodeOf(runs);

export function renderCrowd(report: CrowdReport): string {
  const { runtime, live, gone, returns, lost, scoredZero, reaped, runs } = report;
  const { adopted, replayed, anew } = returns;
  return [
    `${runtime}: the sandbox worker was killed with ${live} sandboxes of rollouts live; ${gone} of them went with it`,
    `interrupted rollouts: ${adopted} adopted, ${replayed} replayed, ${anew} begun anew, ${lost.length} lost, ${scoredZero.length} scored 0 for it`,
    `left for a reap at the end: ${reaped}`,
    "",
    renderReport(runs),
  ].join("\n");
}
