/**
 * Tadpole's own metrics, on the same Prometheus endpoint as the SDK's (docs/metrics.md). What is counted is read off each activity's result or
 * failure from outside, so that no activity knows of it.
 */
import type { MetricMeter } from "@temporalio/common";
import type { ActivityInterceptorsFactory, RuntimeOptions } from "@temporalio/worker";
import type { RolloutOutput } from "../activities/types.ts";

/** Seconds: from a short record to an update of a large model. */
const SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200];

/** Null without a port: no endpoint then. Throws RangeError for what is no port. */
export function metricsTelemetry(
  port: string | undefined,
): NonNullable<RuntimeOptions["telemetryOptions"]>["metrics"] | null {
  if (!port) return null;
  if (!/^\d+$/.test(port) || Number(port) < 1 || Number(port) > 65535)
    throw new RangeError(`TADPOLE_METRICS_PORT: expected a port number from 1 to 65535, got "${port}"`);
  return {
    attachServiceName: false,
    prometheus: {
      bindAddress: `127.0.0.1:${port}`,
      countersTotalSuffix: true,
      unitSuffix: true,
      useSecondsForDurations: true,
      histogramBucketOverrides: { tadpole_activity: SECONDS },
    },
  };
}

/** The failure's type where it has one: `Held`, `Infrastructure`, `BadInput`, … */
function outcomeOf(error: unknown): string {
  const { type, name } = error as { type?: unknown; name?: unknown };
  return typeof type === "string" ? type : typeof name === "string" ? name : "unknown";
}

/** Counts and times every activity attempt, and what an accepted rollout came to. */
export function activityMetrics(meter: MetricMeter): ActivityInterceptorsFactory {
  const attempts = meter.createCounter(
    "tadpole_activity_attempts",
    undefined,
    "Activity attempts that ended",
  );
  const duration = meter.createHistogram("tadpole_activity", "float", "seconds", "Time of an attempt");
  const rollouts = meter.createCounter("tadpole_rollouts", undefined, "Accepted rollouts, by exit");
  const turns = meter.createCounter("tadpole_rollout_turns", undefined, "Model turns of accepted rollouts");
  const tokens = meter.createCounter("tadpole_generated_tokens", undefined, "Tokens of accepted rollouts");
  return (context) => ({
    inbound: {
      async execute(input, next) {
        const activity = context.info.activityType;
        const started = performance.now();
        let outcome = "Completed";
        try {
          const result = await next(input);
          if (activity === "rollout") {
            const { exit, turns: made, generatedTokens } = result as RolloutOutput;
            rollouts.add(1, { exit });
            turns.add(made);
            tokens.add(generatedTokens);
          }
          return result;
        } catch (error) {
          outcome = outcomeOf(error);
          throw error;
        } finally {
          attempts.add(1, { activity, outcome });
          duration.record((performance.now() - started) / 1000, { activity, outcome });
        }
      },
    },
  });
}
