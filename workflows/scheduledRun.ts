/**
 * What a schedule starts: one experiment, or one evaluation, awaited to its end so that overlap policies mean the whole of it; then the
 * condition that may end the schedule.
 */
import { executeChild, ParentClosePolicy, proxyActivities, workflowInfo } from "@temporalio/workflow";
import type {
  ScheduleActivities,
  ScheduledEvaluation,
  ScheduledExperiment,
} from "../activities/schedules.ts";
import { describeEvaluation, describeExperiment } from "../core/descriptions.ts";
import { evaluationId, experimentId } from "../core/ids.ts";
import { attributesOf, noteAttributes, searchAttributes } from "./attributes.ts";
import { withSummary } from "./config.ts";
import { evaluatePolicy } from "./evaluatePolicy.ts";
import { runExperiment } from "./runExperiment.ts";

export interface ScheduledRunInput {
  readonly schedule: string;
  readonly work: ScheduledExperiment | ScheduledEvaluation;
  /** Condition that ends the schedule; null = none. */
  readonly until: string | null;
}

/** Returns the experiment it ran or measured, and whether its schedule has ended. */
export async function scheduledRun(
  input: ScheduledRunInput,
): Promise<{ readonly experiment: string; readonly ended: boolean }> {
  const { schedule, work, until } = input;
  const measured =
    work.kind === "run" ? await runScheduled(schedule, work) : await evaluateScheduled(schedule, work);
  if (until === null) return { experiment: measured.experiment, ended: false };
  const ended = await activities(`end the schedule if ${until}`).endScheduleWhen({
    schedule,
    until,
    ...measured,
  });
  return { experiment: measured.experiment, ended };
}

interface Measured {
  readonly experiment: string;
  readonly mode: string;
  readonly policy: string | null;
}

async function runScheduled(schedule: string, { settings }: ScheduledExperiment): Promise<Measured> {
  const name = `${schedule}-${compactTime(scheduledAt())}`;
  noteAttributes({ experiment: name });
  await activities(`record the experiment ${name}`).recordScheduled({ name, settings });
  await executeChild(runExperiment, {
    workflowId: experimentId(name),
    args: [{ name, settings }],
    ...describeExperiment(name, settings, `schedule ${schedule}`),
    typedSearchAttributes: searchAttributes({ experiment: name, iteration: 0, phase: "preparation" }),
    // Left to itself the experiment of a terminated run would go on beside its successor.
    parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
  });
  return { experiment: name, mode: "sampled", policy: null };
}

async function evaluateScheduled(schedule: string, work: ScheduledEvaluation): Promise<Measured> {
  noteAttributes({ experiment: work.experiment });
  const plan = `look up what it takes to measure ${work.policy} on ${work.set}`;
  const order = await activities(plan).planScheduledEvaluation(work);
  const { policy, set, mode, settings } = order;
  await executeChild(evaluatePolicy, {
    workflowId: `${evaluationId({ policy: policy.id, set: set.name, mode }, experimentId(work.experiment))}/${schedule}-${compactTime(scheduledAt())}`,
    args: [{ ...order, level: settings.synthesis.startLevel }],
    ...describeEvaluation(order, `schedule ${schedule}`),
    typedSearchAttributes: searchAttributes(attributesOf(order.scope, "evaluation", policy)),
    parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
  });
  return { experiment: work.experiment, mode, policy: policy.id };
}

function activities(summary: string): ScheduleActivities {
  return proxyActivities<ScheduleActivities>(withSummary(summary));
}

/** The time Temporal meant it to start at; of a run that no schedule started, its start. */
function scheduledAt(): Date {
  const { searchAttributes, startTime } = workflowInfo();
  const [planned] = searchAttributes.TemporalScheduledStartTime ?? [];
  return planned instanceof Date ? planned : startTime;
}

/** `20261130T060000Z`. */
function compactTime(time: Date): string {
  return time.toISOString().replace(/[-:]|\.\d+/g, "");
}
