/** How many attacks are at work at once: as many as there are cores, whichever runtime they are tried in. */
import { availableParallelism } from "node:os";

/** Each may keep a gigabyte, and its boxes start together with the others'. */
const MOST = 8;

export class Places {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(count = Math.min(MOST, Math.max(2, availableParallelism()))) {
    this.free = count;
  }

  async with<T>(use: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free--;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return await use();
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.free++;
      else next();
    }
  }
}
