/** What a running experiment can be asked and told: updates and a query of `exp/<name>`, signals to and from its children. */
import { defineQuery, defineSignal, defineUpdate } from "@temporalio/workflow";
import type { Phase } from "../core/search-attributes.ts";
import type {
  AmendRequest,
  ExperimentSteering,
  PauseRequest,
  Request,
  SkipRequest,
} from "../core/steering.ts";

/** Each returns on acceptance; a request id seen before gives the state and changes nothing. */
export const pauseUpdate = defineUpdate<ExperimentSteering, [PauseRequest]>("pause");
export const resumeUpdate = defineUpdate<ExperimentSteering, [Request]>("resume");
/** Ends the current phase early, selects the best checkpoint so far, and finishes the experiment as `stopped`. */
export const stopUpdate = defineUpdate<ExperimentSteering, [Request]>("stop");
export const amendUpdate = defineUpdate<ExperimentSteering, [AmendRequest]>("amend");
/** Ends the current phase with what it has: the pool's admitted tasks, the climb's updates so far, no further measurement. */
export const skipUpdate = defineUpdate<ExperimentSteering, [SkipRequest]>("skip");
export const stateQuery = defineQuery<ExperimentSteering>("state");

export interface FinishEarly {
  /** No later phase begins but the selection. */
  readonly stop: boolean;
  /** The phase that is meant: another one goes on. */
  readonly phase?: Phase;
}

/** To an iteration and to its phase: come to an end with what is there. */
export const finishEarlySignal = defineSignal<[FinishEarly]>("finishEarly");

/** From an iteration to its experiment: which phase it is in now. */
export const phaseSignal = defineSignal<[Phase]>("phase");
