/**
 * What a failure of infrastructure costs. Each slot, and each activity that fills none, may fail `limits.infrastructureRetries` times in an epoch,
 * as amended when it fails; once more holds the experiment: such a failure is never a sample, and never the end of a run.
 */
import { ApplicationFailure } from "@temporalio/activity";
import { errorKind } from "../core/errors.ts";
import { type FailureType, failureRule, failureType, RETRY_SPENDING } from "../core/failures.ts";
import {
  countFailures,
  type Db,
  failAttempt,
  holdExperiment,
  readRetries,
  type Slot,
  spendRetry,
} from "../services/store/index.ts";
import { heldFailure } from "./context.ts";

interface Described {
  readonly kind: FailureType;
  readonly message: string;
}

function describe(error: unknown): Described {
  const kind = error instanceof ApplicationFailure ? (error.type as FailureType) : failureType(error);
  const detail = errorKind(error);
  const message = `${detail === null ? "" : `${detail}: `}${error instanceof Error ? error.message : String(error)}`;
  return { kind, message };
}

function failureOf(error: unknown, { kind, message }: Described): ApplicationFailure {
  return ApplicationFailure.create({
    message,
    type: kind,
    ...(error instanceof Error ? { cause: error } : {}),
  });
}

/** The failure to throw: `Held` where the budget is spent, else what it is. */
async function spent(
  db: Db,
  what: { readonly name: string; readonly experiment: string },
  { failures, retries }: { readonly failures: number; readonly retries: number },
  error: unknown,
): Promise<ApplicationFailure> {
  const described = describe(error);
  if (failures <= retries) return failureOf(error, described);
  const reason = `${what.name} failed ${failures} times: ${described.message}`;
  const hold = await holdExperiment(db, what.experiment, { kind: described.kind, reason });
  return hold === null ? failureOf(error, described) : heldFailure(reason, error);
}

/** Records a failed attempt at a slot and gives what to throw. */
export async function afterFailure(db: Db, slot: Slot, fence: string, error: unknown): Promise<unknown> {
  const { kind, message } = describe(error);
  // An error that nobody expected may come from what is recorded: then the turns are no help.
  const recording = failAttempt(db, fence, { kind, error: message, keepTurns: kind !== "Internal" });
  if (!failureRule(kind).spendsBudget) {
    await recording.catch(() => undefined);
    return error;
  }
  // Whoever took the slot over may have caused it, and goes on in its place.
  if (!(await recording)) return failureOf(error, { kind: "Fenced", message });
  const allowed = await readRetries(db, slot.experiment);
  // An attempt from before a resume spends nothing of what is there after it; without an experiment there is nothing to hold.
  if (allowed === null || allowed.epoch !== slot.epoch) return failureOf(error, { kind, message });
  const { retries } = allowed;
  const failures = await countFailures(db, slot, RETRY_SPENDING);
  return spent(db, { name: slot.rolloutKey, experiment: slot.experiment }, { failures, retries }, error);
}

/** Notes the failure of an activity that fills no slot, and gives what to throw. `key` names the activity through all its retries. */
export async function afterActivityFailure(
  db: Db,
  activity: { readonly name: string; readonly key: string; readonly experiment: string },
  failure: ApplicationFailure,
): Promise<ApplicationFailure> {
  const { kind, message } = describe(failure);
  if (!failureRule(kind).spendsBudget) return failure;
  const allowed = await spendRetry(
    db,
    activity,
    { kind, error: `${activity.name}: ${message}` },
    RETRY_SPENDING,
  );
  return allowed === null ? failure : spent(db, activity, allowed, failure);
}
