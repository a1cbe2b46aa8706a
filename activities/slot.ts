/** A slot between its attempts: the sandbox that the next one goes on in, and what a failed one costs. */
import { ApplicationFailure } from "@temporalio/activity";
import { errorKind } from "../core/errors.ts";
import { FAILURES, type FailureType, failureRule, failureType } from "../core/failures.ts";
import { isWhereLeft, type LedgerTurn, type RolloutRequest, replayCalls } from "../services/harness/index.ts";
import type { Sandbox, SandboxIdentity, SandboxSpec } from "../services/sandbox/runtime.ts";
import {
  countFailures,
  type Db,
  dropTurns,
  failAttempt,
  holdExperiment,
  type OpenedAttempt,
} from "../services/store/index.ts";
import type { SandboxServices } from "./services.ts";

const SPENDING = (Object.keys(FAILURES) as FailureType[]).filter((type) => FAILURES[type].spendsBudget);

interface Restoring {
  readonly spec: SandboxSpec;
  readonly identity: SandboxIdentity;
  readonly attempt: OpenedAttempt;
  readonly settings: Pick<RolloutRequest, "signal" | "commandCpuSeconds" | "commandCache">;
  /** Every sandbox that is made or taken over, the last one is the rollout's. */
  readonly onSandbox: (sandbox: Sandbox) => void;
}

/** The sandbox as the slot's ledger says it should be, with the turns to go on from; none when it could not be had. */
export async function restoreSandbox(
  services: Pick<SandboxServices, "runtime" | "db">,
  { spec, identity, attempt, settings, onSandbox }: Restoring,
): Promise<{ readonly sandbox: Sandbox; readonly rows: readonly LedgerTurn[] }> {
  const { runtime } = services;
  const { resumed, previous } = attempt;
  const make = async () => {
    await runtime.removeSlot(identity);
    const sandbox = await runtime.create(spec, identity);
    onSandbox(sandbox);
    return sandbox;
  };
  if (resumed.length === 0) return { sandbox: await make(), rows: [] };
  const adopted = await runtime.adopt({ slot: identity.slot, fence: previous!.fence }, identity);
  if (adopted !== undefined) {
    onSandbox(adopted);
    if (await isWhereLeft(adopted, resumed)) {
      await runtime.removeSlot(identity, identity.fence);
      return { sandbox: adopted, rows: resumed };
    }
  }
  const sandbox = await make();
  const difference = await replayCalls({ ...settings, sandbox }, resumed);
  if (difference === null) return { sandbox, rows: resumed };
  await dropTurns(services.db, attempt.fence, `begun anew: ${difference}`);
  return { sandbox: await make(), rows: [] };
}

/**
 * Records a failed attempt and gives what to throw. A slot that fails more often in an epoch than its budget allows holds its experiment:
 * an infrastructure failure is never a sample, and never the end of a run.
 */
export async function afterFailure(
  db: Db,
  slot: { readonly rolloutKey: string; readonly experiment: string; readonly epoch: number },
  fence: string,
  error: unknown,
  retries: number,
): Promise<unknown> {
  const kind = error instanceof ApplicationFailure ? (error.type as FailureType) : failureType(error);
  const detail = errorKind(error);
  const message = `${detail === null ? "" : `${detail}: `}${error instanceof Error ? error.message : String(error)}`;
  // An error that nobody expected may come from what is recorded: then the turns are no help.
  await failAttempt(db, fence, { kind, error: message, keepTurns: kind !== "Internal" }).catch(
    () => undefined,
  );
  if (!failureRule(kind).spendsBudget) return error;
  const failures = await countFailures(db, slot, SPENDING);
  if (failures <= retries)
    return ApplicationFailure.create({
      message,
      type: kind,
      ...(error instanceof Error ? { cause: error } : {}),
    });
  const reason = `${slot.rolloutKey} failed ${failures} times: ${message}`;
  await holdExperiment(db, slot.experiment, { kind, reason });
  return ApplicationFailure.create({ message: reason, type: "Held", nextRetryDelay: "5 seconds" });
}
