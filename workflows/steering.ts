/** The side of an experiment that people talk to: what they may ask of it while it runs, and what it says of itself. */
import {
  ApplicationFailure,
  CancellationScope,
  type ExternalWorkflowHandle,
  getExternalWorkflowHandle,
  patched,
  setCurrentDetails,
  setHandler,
} from "@temporalio/workflow";
import { amendmentOf, amendmentRefusal, type Moment } from "../core/amendments.ts";
import { experimentDetails } from "../core/details.ts";
import type { ExperimentSettings } from "../core/experiment.ts";
import type { Phase } from "../core/search-attributes.ts";
import {
  type Amendment,
  type AmendRequest,
  amended,
  type ExperimentSteering,
  type Hold,
  type PauseRequest,
  pinnedSettings,
  REMEMBERED,
  type Request,
  SKIPPABLE,
  type SkipRequest,
  type SteeringStatus,
} from "../core/steering.ts";
import { noteAttributes } from "./attributes.ts";
import { records, watchers } from "./config.ts";
import {
  amendUpdate,
  type FinishEarly,
  finishEarlySignal,
  pauseUpdate,
  phaseSignal,
  resumeUpdate,
  skipUpdate,
  stateQuery,
  stopUpdate,
} from "./messages.ts";

/** Carried when the experiment continues as new; of one that is run again, from the record. */
export interface SteeringState {
  readonly hold: Hold | null;
  readonly stopping: boolean;
  readonly amendments: readonly Amendment[];
  /** Ids of answered requests, oldest first. */
  readonly answered: readonly string[];
  /** The last iteration whose input is pinned; absent in states from before this was noted. */
  readonly pinned?: number;
  /** Where it stood, and what it had measured; absent where it begins. */
  readonly place?: Place;
  readonly measured?: readonly string[];
}

/** Measurements shown: those of the last iterations. */
const MEASURED = 20;

const FRESH: SteeringState = { hold: null, stopping: false, amendments: [], answered: [] };

export interface Place {
  readonly phase: Phase;
  readonly iteration: number;
  readonly try: number;
  readonly policy: string | null;
}

export class Steering {
  readonly #experiment: string;
  readonly #settings: ExperimentSettings;
  #hold: Hold | null;
  #drained = false;
  #stopping: boolean;
  #skipped = false;
  #amendments: readonly Amendment[];
  #answered: readonly string[];
  /** Requests being done: the same one again waits for the first, and is answered as it is. */
  readonly #inHand = new Map<string, Promise<void>>();
  #place: Place;
  #pinned: number;
  /** What was measured, one sentence each. */
  #measured: readonly string[];
  /** Workflow of the iteration that runs; null between iterations. */
  #iteration: ExternalWorkflowHandle | null = null;
  #watching: CancellationScope | null = null;

  constructor(experiment: string, settings: ExperimentSettings, carried: SteeringState = FRESH) {
    this.#experiment = experiment;
    this.#settings = settings;
    this.#hold = carried.hold;
    this.#stopping = carried.stopping;
    this.#amendments = carried.amendments;
    this.#answered = carried.answered;
    this.#place = carried.place ?? { phase: "preparation", iteration: 0, try: 1, policy: null };
    this.#pinned = carried.pinned ?? this.#place.iteration;
    this.#measured = carried.measured ?? [];
    this.#show();
    setHandler(stateQuery, () => this.state());
    setHandler(phaseSignal, (phase) => {
      this.#place = { ...this.#place, phase };
      noteAttributes({ phase });
      this.#show();
    });
    setHandler(pauseUpdate, (request) => this.#once(request, () => this.#pause(request)), {
      validator: ({ request, reason }) => {
        checkRequest(request);
        if (typeof reason !== "string" || reason.trim() === "" || reason.length > 1000)
          throw refused("reason: expected a text of at most 1000 characters");
      },
    });
    setHandler(resumeUpdate, (request) => this.#once(request, () => this.#resume(request)), {
      validator: ({ request }) => checkRequest(request),
    });
    setHandler(stopUpdate, (request) => this.#once(request, () => this.#stop(request)), {
      validator: ({ request }) => checkRequest(request),
    });
    setHandler(skipUpdate, (request) => this.#once(request, () => this.#skip(request)), {
      validator: ({ request, phase }) => {
        checkRequest(request);
        if (this.#knows(request)) return;
        if (phase !== undefined && !SKIPPABLE.includes(phase))
          throw refused(`phase: expected one of ${SKIPPABLE.join(", ")}`);
        if (this.#stopping) throw refused(`experiment "${experiment}" is already stopping`);
        if (this.#place.phase === "preparation")
          throw refused("the preparation cannot be skipped: nothing could follow it");
        if (phase !== undefined && phase !== this.#place.phase)
          throw refused(
            `phase: iteration ${this.#place.iteration} is in ${this.#place.phase}, not in ${phase}; nothing was skipped`,
          );
      },
    });
    setHandler(amendUpdate, (request) => this.#once(request, () => this.#amend(request)), {
      validator: ({ request, path, value }) => {
        checkRequest(request);
        if (this.#knows(request)) return;
        const given = { settings, amendments: this.#amendments };
        const problem = amendmentRefusal(given, { request, path, value }, this.#moment());
        if (problem !== null) throw refused(problem);
        if (path === "iterations" && (value as number) < this.#pinned)
          throw refused(`iterations: iteration ${this.#pinned} has begun; expected at least that`);
      },
    });
  }

  get carried(): SteeringState {
    return {
      hold: this.#hold,
      stopping: this.#stopping,
      amendments: this.#amendments,
      answered: this.#answered,
      pinned: this.#pinned,
      place: this.#place,
      measured: this.#measured,
    };
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** True once for each skip: the phase that asks is the one that was to be skipped. */
  takeSkip(): boolean {
    const skipped = this.#skipped;
    this.#skipped = false;
    return skipped;
  }

  /** With the amendments that hold in an iteration, and without the file's overrides, by which nothing is measured. */
  settingsAt(iteration: number): ExperimentSettings {
    return amended(this.#settings, this.#amendments, iteration);
  }

  /** With the overrides, too. What is amended from here on holds from a later iteration on, also before this one is entered. */
  pin(iteration: number): ExperimentSettings {
    this.#pinned = Math.max(this.#pinned, iteration);
    return pinnedSettings(this.#settings, this.#amendments, iteration);
  }

  enter(place: Place, iterationWorkflow: string | null = null): void {
    this.#place = place;
    this.#pinned = Math.max(this.#pinned, place.iteration);
    this.#skipped = false;
    this.#iteration = iterationWorkflow === null ? null : getExternalWorkflowHandle(iterationWorkflow);
    const { phase, iteration, policy } = place;
    noteAttributes({ phase, iteration, policy });
    this.#show();
  }

  /** One sentence for the details. */
  measured(line: string): void {
    this.#measured = [...this.#measured, line].slice(-MEASURED);
    this.#show();
  }

  /** How it ended, for the UI; `failure` = why. */
  ended(outcome: "done" | "stopped" | "failed", policy: string | null, failure: string | null = null): void {
    this.#place = { ...this.#place, policy: policy ?? this.#place.policy };
    noteAttributes({ outcome, policy });
    this.#show(outcome, failure);
  }

  state(): ExperimentSteering {
    return {
      status: this.#status(),
      hold: this.#hold,
      ...this.#place,
      amendments: this.#amendments,
    };
  }

  /** Looks on for holds that others set, until the experiment's own work is done. */
  async whileWatching<T>(work: () => Promise<T>): Promise<T> {
    this.#startWatching();
    try {
      return await work();
    } finally {
      this.#watching?.cancel();
      this.#watching = null;
    }
  }

  #status(): SteeringStatus {
    if (this.#hold !== null) return this.#drained ? "paused" : "pausing";
    return this.#stopping ? "stopping" : "running";
  }

  #show(status: string = this.#status(), failure: string | null = null): void {
    const { iterations } = this.settingsAt(this.#place.iteration);
    setCurrentDetails(experimentDetails({ ...this.state(), status }, iterations, this.#measured, failure));
  }

  /** Until there is a hold, then until all is at rest; a resume begins it anew. */
  async #watch(): Promise<void> {
    const experiment = this.#experiment;
    if (this.#hold === null) {
      const watchdog = this.#settings.watchdog;
      this.#hold = await watchers.watch({ experiment, watchdog });
      this.#show();
    }
    await watchers.awaitDrained({ experiment });
    this.#drained = true;
    this.#show();
  }

  /** After a change of the hold that is not the watcher's own. */
  #watchAnew(): void {
    if (this.#watching === null) return;
    this.#watching.cancel();
    this.#startWatching();
  }

  #startWatching(): void {
    this.#watching = new CancellationScope();
    // It ends by being cancelled, too.
    this.#watching.run(() => this.#watch()).catch(() => undefined);
  }

  async #pause({ request, reason }: PauseRequest): Promise<void> {
    const experiment = this.#experiment;
    this.#hold = await records.hold({ experiment, hold: { kind: "user", reason } });
    this.#show();
    this.#watchAnew();
    await records.noteRequest({ experiment, request, verb: "pause" });
  }

  async #resume({ request }: Request): Promise<void> {
    // Only the record knows: a failure may have set the hold.
    const ended = await records.release({ experiment: this.#experiment, request });
    this.#hold = null;
    this.#drained = false;
    this.#show();
    this.#watchAnew();
    if (ended === null) throw refused(`experiment "${this.#experiment}" is not held`);
  }

  async #stop({ request }: Request): Promise<void> {
    const experiment = this.#experiment;
    this.#stopping = true;
    // The record may hold what the watch has not seen yet.
    if ((await records.release({ experiment, request })) !== null || this.#hold !== null) {
      this.#hold = null;
      this.#drained = false;
      this.#watchAnew();
    }
    this.#show();
    await this.#finishEarly({ stop: true });
    await records.noteRequest({ experiment, request, verb: "stop" });
  }

  async #skip({ request, phase }: SkipRequest): Promise<void> {
    this.#skipped = true;
    await this.#finishEarly({ stop: false, ...(phase === undefined ? {} : { phase }) });
    await records.noteRequest({ experiment: this.#experiment, request, verb: "skip" });
  }

  async #amend(request: AmendRequest): Promise<void> {
    const given = { settings: this.#settings, amendments: this.#amendments };
    const { iteration } = this.#place;
    // Before, one made between the pinning of an iteration and its start was said to hold in it.
    const at = patched("amend-by-pinned") ? this.#moment() : { iteration, pinned: iteration };
    this.#amendments = [...this.#amendments, amendmentOf(given, request, at)];
    await records.amend({ experiment: this.#experiment, amendments: this.#amendments });
    this.#show();
  }

  async #finishEarly(how: FinishEarly): Promise<void> {
    try {
      await this.#iteration?.signal(finishEarlySignal, how);
    } catch {
      // It ended meanwhile: nothing is left to be cut short.
    }
  }

  #moment(): Moment {
    return { iteration: this.#place.iteration, pinned: this.#pinned };
  }

  #knows(request: string): boolean {
    return this.#inHand.has(request) || this.#answered.includes(request);
  }

  /** A refused request is not remembered: it is refused again while its reason stands. */
  async #once({ request }: Request, act: () => Promise<void>): Promise<ExperimentSteering> {
    if (!this.#answered.includes(request)) {
      const inHand = this.#inHand.get(request);
      await (inHand ?? this.#answer(request, act));
    }
    return this.state();
  }

  async #answer(request: string, act: () => Promise<void>): Promise<void> {
    const done = act();
    this.#inHand.set(request, done);
    try {
      await done;
      this.#answered = [...this.#answered, request].slice(-REMEMBERED);
    } finally {
      this.#inHand.delete(request);
    }
  }
}

function refused(message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, "BadInput");
}

function checkRequest(request: unknown): void {
  if (typeof request !== "string" || request === "" || request.length > 200)
    throw refused("request: expected an id of 1 to 200 characters");
}
