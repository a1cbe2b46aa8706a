/** One candidate: validate → probe → admit, refine or drop (docs/method.md §3). */
import type { CandidateRef, GroupInput, ValidateInput } from "../activities/types.ts";
import type { ExperimentSettings } from "../core/experiment.ts";
import type { PolicyRef } from "../core/policy.ts";
import { type Counts, estimatedRate, nextRollouts, type ProbePlan, probePlan } from "../core/probing.ts";
import type { Reuse } from "../core/reuse.ts";
import { type Scope, scopeKey } from "../core/scope.ts";
import type { Outcome } from "../core/search-attributes.ts";
import type { StatementLevel } from "../core/task.ts";
import { noteAttributes } from "./attributes.ts";
import { collect } from "./collectGroup.ts";
import { records, sandboxes } from "./config.ts";

export interface CalibrateTaskInput {
  readonly scope: Scope;
  readonly candidate: CandidateRef;
  readonly policy: PolicyRef;
  readonly settings: ExperimentSettings;
  readonly reuse?: Reuse | null;
}

export interface AdmittedTask {
  readonly taskId: string;
  readonly environment: string;
  readonly level: StatementLevel;
  /** Key of the probe group that admitted it; null without a filter. */
  readonly probeGroup: string | null;
  /** As that probe estimates it; null or absent where there was none. */
  readonly passRate?: number | null;
}

export interface CalibrateTaskOutput {
  readonly admitted: AdmittedTask | null;
  readonly refinements: number;
  /** Why it was dropped: a gate, or the filter's reason. */
  readonly reason: string | null;
  /** Of its latest probe, of `filter.probes`: scaled where it stopped early; null when it was not probed. */
  readonly passes: number | null;
  /** The latest that a probe's rollouts had to be tried again for. */
  readonly failure: string | null;
}

export function validateInput(
  record: string,
  candidate: CandidateRef,
  settings: { readonly stabilityRuns: number; readonly level: StatementLevel },
): ValidateInput {
  return { recordScope: record, candidate, stabilityRuns: settings.stabilityRuns, level: settings.level };
}

export async function calibrateTask(input: CalibrateTaskInput): Promise<CalibrateTaskOutput> {
  const { scope, candidate, settings, policy } = input;
  const { synthesis, filter } = settings;
  const environment = candidate.environment.name;
  let refinements = 0;
  let passes: number | null = null;
  let failure: string | null = null;
  const end = (
    outcome: Outcome,
    how: Partial<Pick<CalibrateTaskOutput, "admitted" | "reason">>,
  ): CalibrateTaskOutput => {
    noteAttributes({ outcome });
    return { admitted: null, reason: null, refinements, passes, failure, ...how };
  };
  const { taskId, rejectedBy } = await sandboxes.validate({
    ...validateInput(scopeKey(scope), candidate, {
      stabilityRuns: synthesis.stabilityRuns,
      level: synthesis.startLevel,
    }),
    scope,
    reuse: input.reuse ?? null,
  });
  if (taskId === null) return end("rejected", { reason: rejectedBy });
  let level = synthesis.startLevel;
  if (!filter.enabled) return end("admitted", { admitted: { taskId, environment, level, probeGroup: null } });
  const plan = probePlan(filter);
  const probed: StatementLevel[] = [];
  for (; ; refinements++) {
    probed.push(level);
    const group: GroupInput = {
      scope,
      phase: "probe",
      key: `${scopeKey(scope)}/task/${candidate.index}/probe/${refinements}`,
      taskId,
      level,
      policy,
      size: filter.probes,
      seed: settings.seed,
      randomKeys: [scope.iteration, "probe", candidate.index, refinements],
      limits: settings.rollout.limits,
      sampling: settings.rollout.sampling,
      sandbox: settings.sandbox,
      grading: settings.grading,
      reward: settings.reward,
      policyServer: settings.policy,
      reuse: input.reuse ?? null,
    };
    const probe = await collectProbe(group, plan);
    passes = Math.round(estimatedRate(plan, probe) * plan.runs);
    failure = probe.failure ?? failure;
    const decision = await records.filter({
      recordScope: scopeKey(scope),
      candidate: candidate.index,
      taskId,
      level,
      refinement: refinements,
      probed,
      group: { ...group, size: probe.runs },
      passes: probe.passes,
      filter,
      levels: { min: synthesis.minLevel, max: synthesis.maxLevel },
    });
    if (decision.action === "admit") {
      // What was left out of the probe is made up for: a training group is whole.
      if (filter.probesAsGroups && probe.runs < group.size) await collect({ group, from: probe.runs });
      const passRate = estimatedRate(plan, probe);
      return end("admitted", { admitted: { taskId, environment, level, probeGroup: group.key, passRate } });
    }
    if (decision.action === "drop") return end("dropped", { reason: decision.reason });
    const { written, reason } = await records.refine({ taskId, level: decision.level });
    if (!written) return end("dropped", { reason });
    level = decision.level;
  }
}

/** Rollouts of a probe, a few at a time where it may stop early: none is begun that the decision might do without. */
async function collectProbe(
  group: GroupInput,
  plan: ProbePlan,
): Promise<Counts & { readonly failure: string | null }> {
  let counts: Counts = { passes: 0, runs: 0 };
  let failure: string | null = null;
  for (;;) {
    const more = nextRollouts(plan, counts);
    if (more === 0) return { ...counts, failure };
    const runs = counts.runs + more;
    const collected = await collect({ group: { ...group, size: runs }, from: counts.runs });
    counts = { passes: collected.passes, runs };
    failure = collected.failure ?? failure;
  }
}
