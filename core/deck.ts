/** Which of a pool's tasks each update trains on. */
import { random } from "./random.ts";

/**
 * Tasks of update `update` (1-based): consecutive slices of one reshuffled deck after the other, so that every task is used
 * before any is used again. `min(perUpdate, tasks.length)` distinct tasks.
 */
export function tasksOfUpdate<T>(
  tasks: readonly T[],
  perUpdate: number,
  update: number,
  seed: number,
  iteration: number,
): T[] {
  const size = Math.min(perUpdate, tasks.length);
  const chosen: T[] = [];
  for (let position = (update - 1) * size; chosen.length < size && position < update * size; position++) {
    const deck = random(seed, iteration, "climb", Math.floor(position / tasks.length)).shuffle(tasks);
    const task = deck[position % tasks.length]!;
    if (!chosen.includes(task)) chosen.push(task);
  }
  // Across the seam of two decks a card may come twice; cards not chosen yet, in pool order, take its place.
  for (const task of tasks) if (chosen.length < size && !chosen.includes(task)) chosen.push(task);
  return chosen;
}
