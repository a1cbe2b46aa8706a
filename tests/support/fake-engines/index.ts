/** Fake inference engines that speak the documented protocols and misbehave. */
export { BASE_VERSION, type FakeEngine, type FakeEngineOptions, startFakeEngine } from "./engine.ts";
export { type Fault, STEPS, type Step } from "./faults.ts";
export {
  BASE_WEIGHTS,
  type Checksums,
  END_TOKEN,
  endedTurn,
  loadWeights,
  type TurnRequest,
} from "./weights.ts";
