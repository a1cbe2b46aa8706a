/** Engines as a worker's rollouts reach them: one fleet for all that name the same ones, and the templates of their checkpoints. */
import type { MetricMeter } from "@temporalio/common";
import type { PolicyAccess } from "../activities/index.ts";
import { isEngineKind } from "../core/policy.ts";
import {
  createEngineFleet,
  createTemplateSource,
  type FleetWatch,
  type PolicyClient,
  PolicyError,
} from "../services/policy/index.ts";
import type { ArtifactStore } from "../services/store/index.ts";

/** Labels are URLs of engines: as many as the settings name. */
function fleetMetrics(meter: MetricMeter): FleetWatch {
  const queue = meter.createHistogram(
    "tadpole_engine_queue",
    "float",
    "seconds",
    "Time a turn waited for its place on an engine",
  );
  const inFlight = meter.createGauge(
    "tadpole_engine_turns_in_flight",
    "int",
    undefined,
    "Turns on an engine",
  );
  const waiting = meter.createGauge(
    "tadpole_engine_turns_waiting",
    "int",
    undefined,
    "Turns that wait for an engine",
  );
  const quarantined = meter.createGauge(
    "tadpole_engine_quarantined",
    "int",
    undefined,
    "1 while an engine gets no turns",
  );
  return {
    queued: (seconds) => queue.record(seconds),
    engine: ({ url: engine, ...state }) => {
      inFlight.set(state.inFlight, { engine });
      waiting.set(state.waiting, { engine });
      quarantined.set(state.quarantine === null ? 0 : 1, { engine });
    },
  };
}

type Server = Parameters<PolicyAccess["client"]>[0];

/** Null for a server that is no engine. */
function settingsOf({ kind, engines, apiKeyEnv }: Server) {
  return isEngineKind(kind) && engines != null ? { kind, engines, apiKeyEnv } : null;
}

/** `other` answers for servers of other kinds. */
export function withEngines(other: PolicyAccess, artifacts: ArtifactStore, meter: MetricMeter): PolicyAccess {
  const watch = fleetMetrics(meter);
  const templateOf = createTemplateSource(artifacts);
  const fleets = new Map<string, PolicyClient>();
  return {
    client: (server) => {
      const settings = settingsOf(server);
      if (settings === null) return other.client(server);
      const key = JSON.stringify(settings);
      const fleet = fleets.get(key) ?? createEngineFleet({ ...settings, watch });
      fleets.set(key, fleet);
      return fleet;
    },
    template: (policy, server) => {
      const settings = settingsOf(server);
      return settings === null ? other.template(policy, server) : templateOf(policy, settings.engines.calls);
    },
    publish: async (policy, server, signal) => {
      if (settingsOf(server) === null) return other.publish(policy, server, signal);
      throw new PolicyError(
        "capability",
        `${policy.id}: only the worker beside the engines (tadpole worker gpu) gives them weights`,
      );
    },
  };
}
