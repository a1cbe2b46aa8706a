/** The side of an experiment that people talk to: updates that hold and release it, and what it says of itself. */
import { ApplicationFailure, setHandler } from "@temporalio/workflow";
import type { ExperimentSteering, Hold, Request } from "../core/steering.ts";
import { records } from "./config.ts";
import { pauseUpdate, resumeUpdate, stateQuery } from "./messages.ts";

/** Requests remembered: more than anyone repeats one after. */
const REMEMBERED = 200;

/** Carried when the experiment continues as new. */
export interface SteeringState {
  readonly hold: Hold | null;
  /** Ids of answered requests, oldest first. */
  readonly answered: readonly string[];
}

export class Steering {
  readonly #experiment: string;
  #hold: Hold | null;
  #answered: readonly string[];
  /** What the experiment is at; set by its workflow. */
  at: { phase: string; iteration: number; try: number; policy: string | null } = {
    phase: "environments",
    iteration: 0,
    try: 1,
    policy: null,
  };

  constructor(experiment: string, carried: SteeringState = { hold: null, answered: [] }) {
    this.#experiment = experiment;
    this.#hold = carried.hold;
    this.#answered = carried.answered;
    setHandler(stateQuery, () => this.state());
    setHandler(pauseUpdate, (request) =>
      this.#once(request, async () => {
        const hold = { kind: "user", reason: request.reason };
        this.#hold = await records.hold({ experiment, hold });
      }),
    );
    setHandler(resumeUpdate, (request) =>
      this.#once(request, async () => {
        const ended = await records.release({ experiment });
        this.#hold = null;
        // Only the record knows: a failure may have set the hold.
        if (ended === null)
          throw ApplicationFailure.nonRetryable(`experiment "${this.#experiment}" is not held`, "BadInput");
      }),
    );
  }

  get carried(): SteeringState {
    return { hold: this.#hold, answered: this.#answered };
  }

  state(): ExperimentSteering {
    return {
      status: this.#hold === null ? "running" : "pausing",
      hold: this.#hold,
      ...this.at,
      amendments: [],
    };
  }

  async #once({ request }: Request, act: () => Promise<void>): Promise<ExperimentSteering> {
    if (!this.#answered.includes(request)) {
      await act();
      this.#answered = [...this.#answered, request].slice(-REMEMBERED);
    }
    return this.state();
  }
}
