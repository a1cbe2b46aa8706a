/** A stream of unique candidates in index order: synthesised in small batches, duplicates and over-used functions left out. */
import type { CandidateRef, SynthesiseInput } from "../activities/types.ts";
import { sandboxes, withSummary } from "./config.ts";

/** Candidates per activity: enough to keep histories short, few enough to waste little when the pool is full. */
const BATCH = 8;

export interface CandidateStreamState {
  /** First index not yet synthesised. */
  readonly from: number;
  readonly seen: readonly string[];
  readonly perFunction: Readonly<Record<string, number>>;
}

export const EMPTY_STREAM: CandidateStreamState = { from: 0, seen: [], perFunction: {} };

export class CandidateStream {
  readonly #source: Omit<SynthesiseInput, "from" | "count">;
  readonly #end: number;
  readonly #cap: number;
  readonly #seen: Set<string>;
  readonly #perFunction: Map<string, number>;
  #queue: CandidateRef[] = [];
  #from: number;
  /** Candidates left out: duplicates, capped functions, draws without a site. */
  dropped = 0;

  /** At most `maxCandidates` indices are drawn; at most `perFunctionCap` candidates change the same function. */
  constructor(
    source: Omit<SynthesiseInput, "from" | "count">,
    maxCandidates: number,
    perFunctionCap: number,
    state: CandidateStreamState,
  ) {
    this.#source = source;
    this.#end = maxCandidates;
    this.#cap = perFunctionCap;
    this.#seen = new Set(state.seen);
    this.#perFunction = new Map(Object.entries(state.perFunction));
    this.#from = state.from;
  }

  async next(): Promise<CandidateRef | null> {
    for (;;) {
      const candidate = this.#queue.shift();
      if (candidate !== undefined) {
        if (this.#accepts(candidate)) return candidate;
        this.dropped++;
        continue;
      }
      if (this.#from >= this.#end) return null;
      const count = Math.min(BATCH, this.#end - this.#from);
      const { candidates, empty } = await sandboxes.synthesise.executeWithOptions(
        withSummary("sandbox", `synthesise candidates ${this.#from}–${this.#from + count - 1}`),
        [{ ...this.#source, from: this.#from, count }],
      );
      this.#from += count;
      this.dropped += empty.length;
      this.#queue = [...candidates];
    }
  }

  #accepts(candidate: CandidateRef): boolean {
    if (this.#seen.has(candidate.key)) return false;
    if (candidate.functions.some((name) => (this.#perFunction.get(name) ?? 0) >= this.#cap)) return false;
    this.#seen.add(candidate.key);
    for (const name of candidate.functions)
      this.#perFunction.set(name, (this.#perFunction.get(name) ?? 0) + 1);
    return true;
  }
}
