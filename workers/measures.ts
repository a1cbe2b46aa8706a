/**
 * What workers count, beside the SDK's own series (docs/metrics.md). All of it is read off from outside: an activity's input, result or failure, and
 * the calls of a service, so that neither activities nor services know of metrics.
 *
 * Labels take few values: never a name that grows with the number of tasks, slots or experiments.
 */

import type { MetricMeter } from "@temporalio/common";
import type { ActivityInterceptorsFactory } from "@temporalio/worker";
import type {
  AssembleInput,
  AssembleOutput,
  GroupInput,
  RolloutInput,
  RolloutOutput,
  ValidateOutput,
  VerifyOutput,
} from "../activities/types.ts";
import type { ArtifactRef } from "../core/artifact.ts";
import { errorKind } from "../core/errors.ts";
import { failureRule } from "../core/failures.ts";
import type { SandboxRuntime } from "../services/sandbox/index.ts";
import type { ArtifactStore } from "../services/store/index.ts";
import type { Trainer } from "../services/trainers/index.ts";
import { paceMeasures } from "./measures-pace.ts";

/** The failure's type (core/failures.ts). What an activity throws once it was cancelled is no failure of its own. */
function outcomeOf(error: unknown, cancelled: boolean): string {
  const { type, name } = error as { type?: unknown; name?: unknown };
  if (cancelled || name === "CancelledFailure") return "Cancelled";
  return typeof type === "string" ? type : "Internal";
}

/** `<class>.<kind>` of what went wrong below the failure that Temporal sees. */
function kindOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const kind = errorKind(cause);
  const name = cause instanceof Error ? cause.name : "unknown";
  return kind === null ? name : `${name}.${kind}`;
}

/** Adds what a completed activity came to. */
type Reader = (input: unknown, result: unknown) => void;

function resultReaders(meter: MetricMeter): Readonly<Record<string, Reader>> {
  const counter = (name: string, description: string) => meter.createCounter(name, undefined, description);
  const rollouts = counter("tadpole_rollouts", "Rollouts delivered, by phase and exit");
  const turns = counter("tadpole_rollout_turns", "Model turns of the rollouts delivered");
  const tokens = counter("tadpole_generated_tokens", "Tokens sampled for the rollouts delivered");
  const forks = counter("tadpole_rollout_forks", "Prompts of rollouts that did not extend what came before");
  const verdicts = counter("tadpole_verdicts", "Rollouts graded, by phase and outcome");
  const groups = counter("tadpole_groups", "Groups given to batches, kept or dropped as zero-variance");
  const pace = paceMeasures(meter);
  const candidates = counter("tadpole_candidates", "Candidates validated: valid, or the gate that rejected");
  return {
    rollout: (input, result) => {
      const { phase } = (input as RolloutInput).group;
      const { exit, turns: made, generatedTokens, forks: forked = 0 } = result as RolloutOutput;
      rollouts.add(1, { phase, exit });
      turns.add(made, { phase });
      forks.add(forked, { phase });
      tokens.add(generatedTokens, { phase });
    },
    verify: (input, result) => {
      const { phase } = input as GroupInput;
      const { passes, size } = result as VerifyOutput;
      verdicts.add(passes, { phase, outcome: "passed" });
      verdicts.add(size - passes, { phase, outcome: "failed" });
    },
    assemble: (input, result) => {
      const { kept, dropped } = result as AssembleOutput;
      groups.add(kept, { use: "kept" });
      groups.add(dropped, { use: "dropped" });
      pace(input as AssembleInput, result as AssembleOutput);
    },
    validate: (_input, result) =>
      candidates.add(1, { outcome: (result as ValidateOutput).rejectedBy ?? "valid" }),
  };
}

/** Counts and times every attempt of an activity, its infrastructure failures, and what it came to. */
export function activityMetrics(meter: MetricMeter): ActivityInterceptorsFactory {
  const readers = resultReaders(meter);
  const attempts = meter.createCounter(
    "tadpole_activity_attempts",
    undefined,
    "Activity attempts ended, by outcome",
  );
  const duration = meter.createHistogram("tadpole_activity", "float", "seconds", "Time of an attempt");
  const failures = meter.createCounter(
    "tadpole_infrastructure_failures",
    undefined,
    "Attempts that gave no sample for a fault of the infrastructure, by kind of error",
  );
  return (context) => ({
    inbound: {
      async execute(input, next) {
        const activity = context.info.activityType;
        const started = performance.now();
        let outcome = "Completed";
        try {
          const result = await next(input);
          readers[activity]?.(input.args[0], result);
          return result;
        } catch (error) {
          outcome = outcomeOf(error, context.cancellationSignal.aborted);
          if (outcome !== "Cancelled" && failureRule(outcome).spendsBudget)
            failures.add(1, { activity, kind: kindOf(error) });
          throw error;
        } finally {
          attempts.add(1, { activity, outcome });
          duration.record((performance.now() - started) / 1000, { activity, outcome });
        }
      },
    },
  });
}

/** Times `work`; the label `outcome` is `Completed`, or the kind of what it throws. */
async function timed<T>(record: (seconds: number, outcome: string) => void, work: () => Promise<T>) {
  const started = performance.now();
  const seconds = () => (performance.now() - started) / 1000;
  try {
    const result = await work();
    record(seconds(), "Completed");
    return result;
  } catch (error) {
    record(seconds(), kindOf(error));
    throw error;
  }
}

export function measuredSandboxes(runtime: SandboxRuntime, meter: MetricMeter): SandboxRuntime {
  const boot = meter.createHistogram("tadpole_sandbox_boot", "float", "seconds", "Time to boot a sandbox");
  const adopted = meter.createCounter("tadpole_sandboxes_adopted", undefined, "Sandboxes taken over alive");
  const reaped = meter.createCounter(
    "tadpole_sandboxes_reaped",
    undefined,
    "Sandboxes removed whose owner had gone",
  );
  const booted = (seconds: number, outcome: string) => boot.record(seconds, { outcome });
  return {
    name: runtime.name,
    unavailable: () => runtime.unavailable(),
    create: (spec, identity) => timed(booted, () => runtime.create(spec, identity)),
    async adopt(previous, identity) {
      const sandbox = await runtime.adopt(previous, identity);
      // An attempt takes over from itself, too, where it made the recorded calls again.
      if (sandbox !== undefined && !previous.fence.startsWith(identity.fence)) adopted.add(1);
      return sandbox;
    },
    async reap(filter) {
      const removed = await runtime.reap(filter);
      reaped.add(removed);
      return removed;
    },
    list: (now) => runtime.list(now),
    removeSlot: (slot, keep) => runtime.removeSlot(slot, keep),
  };
}

export function measuredTrainer(trainer: Trainer, meter: MetricMeter): Trainer {
  const time = meter.createHistogram("tadpole_update", "float", "seconds", "Time of a policy update");
  const tokens = meter.createCounter("tadpole_trained_tokens", undefined, "Tokens that updates trained on");
  const masked = meter.createCounter("tadpole_masked_tokens", undefined, "Of these, what the mask dropped");
  const effective = meter.createCounter(
    "tadpole_effective_tokens",
    undefined,
    "Effective sample size of the updates, in tokens",
  );
  const ended = (seconds: number, outcome: string) => time.record(seconds, { outcome });
  return {
    name: trainer.name,
    async update(batch, parent, settings, progress) {
      const result = await timed(ended, () => trainer.update(batch, parent, settings, progress));
      tokens.add(result.metrics.trainableTokens);
      masked.add(result.metrics.droppedTokens);
      effective.add(Math.round(result.metrics.effectiveSampleSize));
      return result;
    },
    ...(trainer.open ? { open: (session) => trainer.open!(session) } : {}),
    close: () => trainer.close(),
  };
}

export function measuredArtifacts(store: ArtifactStore, meter: MetricMeter): ArtifactStore {
  const bytes = meter.createCounter("tadpole_artifact_bytes", undefined, "Bytes put into the store, by kind");
  const { path } = store;
  const counted = (ref: ArtifactRef): ArtifactRef => {
    bytes.add(ref.bytes, { kind: ref.kind });
    return ref;
  };
  return {
    put: async (content, kind) => counted(await store.put(content, kind)),
    putFile: async (file, kind) => counted(await store.putFile(file, kind)),
    get: (ref) => store.get(ref),
    getFile: (ref, file) => store.getFile(ref, file),
    ...(path ? { path: (ref) => path(ref) } : {}),
  };
}
