/** What happens when: events in the order of simulated time, those of one moment in the order in which they were noted. */

interface Entry {
  readonly at: number;
  readonly order: number;
  readonly happen: () => void;
}

const before = (a: Entry, b: Entry): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

/** Seconds of simulated time; nothing here knows of any other clock. */
export class Agenda {
  now = 0;
  #heap: Entry[] = [];
  #noted = 0;

  /** `delay` in seconds, at least 0. */
  after(delay: number, happen: () => void): void {
    const heap = this.#heap;
    heap.push({ at: this.now + delay, order: this.#noted++, happen });
    let child = heap.length - 1;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (!before(heap[child]!, heap[parent]!)) break;
      [heap[child], heap[parent]] = [heap[parent]!, heap[child]!];
      child = parent;
    }
  }

  /** Until `done` or nothing is left to happen. */
  run(done: () => boolean): void {
    while (!done()) {
      const next = this.#pop();
      if (next === undefined) return;
      this.now = next.at;
      next.happen();
    }
  }

  #pop(): Entry | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    heap[0] = last;
    let parent = 0;
    for (;;) {
      const left = 2 * parent + 1;
      const right = left + 1;
      let least = parent;
      if (left < heap.length && before(heap[left]!, heap[least]!)) least = left;
      if (right < heap.length && before(heap[right]!, heap[least]!)) least = right;
      if (least === parent) return first;
      [heap[parent], heap[least]] = [heap[least]!, heap[parent]!];
      parent = least;
    }
  }
}
