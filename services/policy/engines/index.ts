/** How weights come into engines, by their kind. */
import type { EngineKind } from "../../../core/policy.ts";
import type { DriverOptions, EngineDriver } from "./driver.ts";
import { createSglangDriver } from "./sglang.ts";
import { createVllmDriver } from "./vllm.ts";

export type { DriverLimits, DriverOptions, EngineDriver } from "./driver.ts";

export function createDriver(kind: EngineKind, options: DriverOptions): EngineDriver {
  return kind === "vllm" ? createVllmDriver(options) : createSglangDriver(options);
}
