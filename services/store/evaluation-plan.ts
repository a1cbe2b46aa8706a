/** What an evaluation of a policy on one of an experiment's task sets needs, read from the record. */
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { PolicyRef } from "../../core/policy.ts";
import type { Scope } from "../../core/scope.ts";
import { type Amendment, amended } from "../../core/steering.ts";
import { StoreError } from "./errors.ts";
import { getExperiment } from "./experiments.ts";
import { getPolicy, policyIteration, taskSetHash } from "./policies.ts";
import type { Executor } from "./rows.ts";
import { showExperiment } from "./summary.ts";
import { findTaskSet } from "./tasks.ts";

export interface PlannedPolicy {
  /** The iteration that the policy is of. */
  readonly scope: Scope;
  /** With every amendment so far. */
  readonly settings: ExperimentSettings;
  readonly policy: PolicyRef;
}

export interface EvaluationPlan extends PlannedPolicy {
  readonly set: {
    readonly name: string;
    readonly hash: string;
    readonly tasks: readonly string[];
    readonly keys: readonly string[];
  };
}

/** pass@1 of the experiment's latest evaluation of that set and mode, by that policy where one is named. */
export async function latestRate(
  db: Executor,
  wanted: {
    readonly experiment: string;
    readonly set: string;
    readonly mode: string;
    readonly policy: string | null;
  },
): Promise<number | undefined> {
  let query = db
    .selectFrom("evaluations")
    .select("pass_at_1")
    .where("experiment", "=", wanted.experiment)
    .where("set_name", "=", wanted.set)
    .where("mode", "=", wanted.mode);
  if (wanted.policy !== null) query = query.where("policy", "=", wanted.policy);
  const row = await query
    .orderBy("iteration", "desc")
    .orderBy("created_at", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.pass_at_1;
}

/** In place of a policy's id: the last one that the experiment chose. */
const LATEST = "latest";

/** Throws StoreError `missing` for an unknown experiment or policy. */
export async function planPolicy(
  db: Executor,
  { experiment, policy: wanted }: { readonly experiment: string; readonly policy: string },
): Promise<PlannedPolicy> {
  const recorded = await getExperiment(db, experiment);
  const settings = amended(
    recorded.settings as ExperimentSettings,
    recorded.amendments as unknown as readonly Amendment[],
    Number.POSITIVE_INFINITY,
  );
  const { kind: _, ...policy } = await getPolicy(db, await policyId(db, experiment, wanted));
  return {
    scope: { experiment, iteration: await policyIteration(db, experiment, policy.id), try: 1 },
    settings,
    policy,
  };
}

/** Throws StoreError `missing` for an unknown experiment, policy or set. */
export async function planEvaluation(
  db: Executor,
  wanted: { readonly experiment: string; readonly policy: string; readonly set: string },
): Promise<EvaluationPlan> {
  const { experiment } = wanted;
  const planned = await planPolicy(db, wanted);
  const hash = await taskSetHash(db, experiment, wanted.set);
  const row = hash === undefined ? undefined : await findTaskSet(db, hash);
  if (row === undefined) {
    throw new StoreError(
      "missing",
      `experiment "${experiment}" has no task set "${wanted.set}" yet; its sets are ${Object.keys(planned.settings.evaluation.sets).join(", ")}`,
    );
  }
  return {
    ...planned,
    set: {
      name: wanted.set,
      hash: row.hash,
      tasks: row.tasks,
      keys: (row.spec as { readonly keys: string[] }).keys,
    },
  };
}

async function policyId(db: Executor, experiment: string, policy: string): Promise<string> {
  if (policy !== LATEST) return policy;
  const latest = (await showExperiment(db, experiment)).policy;
  if (latest === null) throw new StoreError("missing", `experiment "${experiment}" has no policy yet`);
  return latest.id;
}
