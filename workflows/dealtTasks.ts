/** Which task each group of an asynchronous climb samples, under which names; and when a deal of tasks is settled. */

import type { Place } from "../core/pace.ts";
import { type Scope, scopeKey } from "../core/scope.ts";
import type { AdmittedTask } from "./calibrateTask.ts";
import type { ClimbGroup, ClimbInput } from "./climbing.ts";
import { TaskChoice, type TaskChoiceState } from "./taskChoice.ts";

/** Carried over when a history grows long. */
export interface DealtTasksState {
  readonly choice?: TaskChoiceState | undefined;
  /** By deal that is not settled: how many of its groups were used or dropped. */
  readonly settled: Readonly<Record<number, number>>;
}

/** A deal is to an asynchronous climb what an update's tasks are to an exact one: the tasks of deal d are those of update d. */
export class DealtTasks {
  readonly #scope: Scope;
  readonly #probesAsGroups: boolean;
  readonly #batch: number;
  readonly #choice: TaskChoice;
  readonly #settled: Map<number, number>;

  constructor({ scope, settings, tasks }: ClimbInput, batch: number, state?: DealtTasksState) {
    this.#scope = scope;
    this.#probesAsGroups = settings.filter.probesAsGroups;
    this.#batch = batch;
    this.#choice = new TaskChoice(tasks, settings, scope, state?.choice);
    this.#settled = new Map(
      Object.entries(state?.settled ?? {}).map(([deal, count]) => [Number(deal), count]),
    );
  }

  get carried(): DealtTasksState {
    return { choice: this.#choice.carried, settled: Object.fromEntries(this.#settled) };
  }

  taskOf({ deal, position }: Place): AdmittedTask {
    return this.#choice.tasksOf(deal)[position]!;
  }

  /** Sampled anew it is another group, and another sample. */
  groupOf(place: Place): Pick<ClimbGroup, "key" | "name" | "task" | "randomKeys"> {
    const { deal, position, again } = place;
    const task = this.taskOf(place);
    const anew = again === 0 ? "" : `-${again}`;
    const isProbe = deal === 1 && again === 0 && this.#probesAsGroups && task.probeGroup !== null;
    return {
      task,
      key: isProbe ? task.probeGroup! : `${scopeKey(this.#scope)}/climb/${deal}/${position}${anew}`,
      name: `${deal}-${position}${anew}`,
      randomKeys: [this.#scope.iteration, "climb", deal, position, ...(again === 0 ? [] : [again])],
    };
  }

  /** Passes of the rollouts that the group began with. */
  note({ deal, position }: Place, passes: number): void {
    this.#choice.note(deal, position, passes);
  }

  /** The group was used, or left without being sampled anew. */
  settle({ deal }: Place): void {
    const settled = (this.#settled.get(deal) ?? 0) + 1;
    if (settled < this.#batch) this.#settled.set(deal, settled);
    else {
      this.#settled.delete(deal);
      this.#choice.close(deal);
    }
  }
}
