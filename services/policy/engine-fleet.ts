/** The engines of an experiment's settings as one PolicyClient. */
import type { EngineSettings } from "../../core/experiment.ts";
import type { EngineKind } from "../../core/policy.ts";
import type { PolicyClient } from "./client.ts";
import type { Engine, EngineOptions } from "./engine.ts";
import { createFleet, type FleetWatch } from "./fleet.ts";
import { createSglangEngine } from "./sglang.ts";
import { createVllmEngine } from "./vllm.ts";

export function createEngineClient(kind: EngineKind, options: EngineOptions): Engine {
  return kind === "vllm" ? createVllmEngine(options) : createSglangEngine(options);
}

export interface EngineFleetInput {
  readonly kind: EngineKind;
  readonly engines: Pick<EngineSettings, "urls" | "turnsInFlight" | "onPublish">;
  /** NAME of the environment variable that holds their key; null = they need none. */
  readonly apiKeyEnv: string | null;
  readonly watch?: FleetWatch;
}

export function createEngineFleet({ kind, engines, apiKeyEnv, watch }: EngineFleetInput): PolicyClient {
  const { urls, turnsInFlight, onPublish } = engines;
  const clients = urls.map((url) => createEngineClient(kind, { url, apiKeyEnv, onPublish }));
  return createFleet(clients, { turnsInFlight, onPublish, ...(watch ? { watch } : {}) });
}
