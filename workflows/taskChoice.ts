/** Which tasks each update of a climb trains on: dealt evenly, or by what they can still teach. Deterministic under replay. */
import { tasksOfUpdate } from "../core/deck.ts";
import type { ExperimentSettings } from "../core/experiment.ts";
import { frontierTasks, type RunningRate, UNSEEN, withGroup } from "../core/frontier.ts";
import type { Scope } from "../core/scope.ts";
import type { AdmittedTask } from "./calibrateTask.ts";

/** Carried over when a history grows long: nothing where tasks are dealt evenly. */
export interface TaskChoiceState {
  readonly rates: readonly RunningRate[];
  /** Of updates that are not made yet: indices of their tasks, and the passes of the groups that are there, by position. */
  readonly open: Readonly<
    Record<number, { readonly chosen: readonly number[]; readonly passes: Readonly<Record<number, number>> }>
  >;
}

/**
 * A choice for update v rests on the groups of updates up to v − 1 − lag, which are all there when it is made, whatever else has arrived: so
 * neither timing nor a new run changes it. Updates are asked for in order.
 */
export class TaskChoice {
  readonly #tasks: readonly AdmittedTask[];
  readonly #settings: ExperimentSettings;
  readonly #iteration: number;
  readonly #rates: RunningRate[];
  readonly #open: Map<number, { chosen: readonly number[]; passes: Record<number, number> }>;

  constructor(
    tasks: readonly AdmittedTask[],
    settings: ExperimentSettings,
    scope: Scope,
    state: TaskChoiceState | undefined,
  ) {
    this.#tasks = tasks;
    this.#settings = settings;
    this.#iteration = scope.iteration;
    const { probes } = settings.filter;
    this.#rates = tasks.map(({ passRate = null }, index) => {
      const known = state?.rates[index];
      return known ?? (passRate === null ? UNSEEN : withGroup(UNSEEN, passRate * probes, probes));
    });
    this.#open = new Map(
      Object.entries(state?.open ?? {}).map(([update, { chosen, passes }]) => [
        Number(update),
        { chosen, passes: { ...passes } },
      ]),
    );
  }

  /** Undefined where tasks are dealt evenly. */
  get #frontier() {
    const { sampling } = this.#settings.climb;
    return sampling?.kind === "frontier" ? sampling : undefined;
  }

  get carried(): TaskChoiceState | undefined {
    if (this.#frontier === undefined) return undefined;
    return { rates: this.#rates, open: Object.fromEntries(this.#open) };
  }

  tasksOf(update: number): AdmittedTask[] {
    const { climb, seed } = this.#settings;
    const { tasksPerBatch } = climb;
    const frontier = this.#frontier;
    if (frontier === undefined)
      return tasksOfUpdate(this.#tasks, tasksPerBatch, update, seed, this.#iteration);
    let chosen = this.#open.get(update)?.chosen;
    if (chosen === undefined) {
      chosen = frontierTasks(this.#rates, tasksPerBatch, update, frontier, seed, this.#iteration);
      this.#open.set(update, { chosen, passes: {} });
      for (const index of chosen) this.#rates[index] = { ...this.#rates[index]!, last: update };
    }
    return chosen.map((index) => this.#tasks[index]!);
  }

  /** The group at `position` of an update is there: passes of the rollouts that it began with, `climb.groupSize` of them. */
  note(update: number, position: number, passes: number): void {
    const open = this.#open.get(update);
    if (open !== undefined) open.passes[position] = passes;
  }

  /** All groups of the update count from now on. */
  close(update: number): void {
    const open = this.#open.get(update);
    if (open === undefined) return;
    this.#open.delete(update);
    for (const [position, index] of open.chosen.entries()) {
      const passes = open.passes[position];
      if (passes !== undefined)
        this.#rates[index] = withGroup(this.#rates[index]!, passes, this.#settings.climb.groupSize);
    }
  }
}
