/** What a scheduled run needs of the record and of Temporal: its experiment or evaluation, and the end of its schedule. */
import { conditionHolds, formatCondition, parseCondition } from "../core/condition.ts";
import { type ExperimentSettings, evaluationGrading, evaluationMode } from "../core/experiment.ts";
import type { Sampling } from "../core/trajectory.ts";
import {
  createExperiment,
  type Db,
  type EvaluationPlan,
  latestRate,
  planEvaluation,
} from "../services/store/index.ts";
import { withFailures } from "./context.ts";

export interface ScheduledExperiment {
  readonly kind: "run";
  readonly settings: ExperimentSettings;
}

export interface ScheduledEvaluation {
  readonly kind: "evaluate";
  readonly experiment: string;
  /** An id, or `latest`. */
  readonly policy: string;
  readonly set: string;
}

export interface EvaluationOrder extends EvaluationPlan {
  readonly mode: string;
  readonly samples: number;
  readonly sampling: Sampling;
  readonly grading: ExperimentSettings["grading"];
}

export interface ConditionInput {
  readonly schedule: string;
  /** As `core/condition.ts` reads it. */
  readonly until: string;
  readonly experiment: string;
  /** Of the evaluations that count: what an experiment's own are called, or a scheduled evaluation's. */
  readonly mode: string;
  /** Null = whichever was measured last. */
  readonly policy: string | null;
}

export interface ScheduleActivities {
  /** Records the experiment; the same name and settings again is the same one. */
  recordScheduled(input: { readonly name: string; readonly settings: ExperimentSettings }): Promise<void>;
  planScheduledEvaluation(input: ScheduledEvaluation): Promise<EvaluationOrder>;
  /** True when the condition holds: the schedule is paused then, with a note. */
  endScheduleWhen(input: ConditionInput): Promise<boolean>;
}

export interface ScheduleServices {
  readonly db: Db;
  /** Version of the code that runs, for the record. */
  readonly codeVersion: string;
  /** Pauses the schedule with a note; one that is gone is none of its affair. */
  pauseSchedule(schedule: string, note: string): Promise<void>;
}

export function createScheduleActivities(services: ScheduleServices): ScheduleActivities {
  return withFailures({
    recordScheduled: async ({ name, settings }) => {
      await createExperiment(services.db, { name, settings, codeVersion: services.codeVersion });
    },
    planScheduledEvaluation: (input) => order(services.db, input),
    endScheduleWhen: (input) => endWhen(services, input),
  });
}

async function order(db: Db, input: ScheduledEvaluation): Promise<EvaluationOrder> {
  const plan = await planEvaluation(db, input);
  const { sampling, grading, sets } = plan.settings.evaluation;
  const samples = sets[input.set]?.samplesPerTask ?? 1;
  return {
    ...plan,
    samples,
    sampling,
    mode: evaluationMode(sampling, samples, grading),
    grading: evaluationGrading(plan.settings, grading),
  };
}

async function endWhen(services: ScheduleServices, input: ConditionInput): Promise<boolean> {
  const condition = parseCondition(input.until);
  if (condition === null) throw new Error(`${input.until} is no condition`);
  const rate = await latestRate(services.db, { ...input, set: condition.set });
  if (rate === undefined || !conditionHolds(condition, rate)) return false;
  await services.pauseSchedule(
    input.schedule,
    `ended: ${formatCondition(condition)} holds, ${rate.toFixed(3)} in ${input.experiment}`,
  );
  return true;
}
