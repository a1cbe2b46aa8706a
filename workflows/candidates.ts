/** A stream of unique candidates in index order: synthesised in small batches, duplicates and over-used functions left out. */
import type { CandidateRef, SynthesiseInput } from "../activities/types.ts";
import { shortKey } from "../core/candidates.ts";
import { random } from "../core/random.ts";
import { sandboxes } from "./config.ts";

/** Candidates per activity: enough to keep histories short, few enough to waste little when the pool is full. */
const BATCH = 8;

/** Carried over when a history grows long. */
export interface CandidateStreamState {
  /** First index not yet synthesised. */
  readonly from: number;
  /** Synthesised, not yet taken. */
  readonly queue: readonly CandidateRef[];
  /** Short keys of the candidates taken. */
  readonly seen: readonly string[];
  /** Candidates taken, by short name of the function that they change. */
  readonly perFunction: Readonly<Record<string, number>>;
  /** Indices without a candidate of their own: used before, duplicates, capped functions, draws without a site. */
  readonly leftOut: readonly number[];
}

const EMPTY: CandidateStreamState = { from: 0, queue: [], seen: [], perFunction: {}, leftOut: [] };

const shortName = (name: string): string => random(0, name).seed32().toString(36);

export class CandidateStream {
  readonly #source: Omit<SynthesiseInput, "from" | "count">;
  readonly #end: number;
  readonly #cap: number;
  readonly #seen: Set<string>;
  readonly #perFunction: Map<string, number>;
  readonly #leftOut: number[];
  #queue: CandidateRef[];
  #from: number;

  /** At most `maxCandidates` indices are drawn; at most `perFunctionCap` candidates change the same function. */
  constructor(
    source: Omit<SynthesiseInput, "from" | "count">,
    limits: {
      readonly maxCandidates: number;
      readonly perFunctionCap: number;
    },
    state: CandidateStreamState = EMPTY,
  ) {
    this.#source = source;
    this.#end = limits.maxCandidates;
    this.#cap = limits.perFunctionCap;
    this.#seen = new Set(state.seen);
    this.#perFunction = new Map(Object.entries(state.perFunction));
    this.#leftOut = [...state.leftOut];
    this.#queue = [...state.queue];
    this.#from = state.from;
  }

  get carried(): CandidateStreamState {
    return {
      from: this.#from,
      queue: this.#queue,
      seen: [...this.#seen],
      perFunction: Object.fromEntries(this.#perFunction),
      leftOut: this.#leftOut,
    };
  }

  /** How many indices up to `last` were left out. How far ahead of it the stream has read makes no difference. */
  leftOut(last: number): number {
    return this.#leftOut.filter((index) => index <= last).length;
  }

  async next(): Promise<CandidateRef | null> {
    for (;;) {
      const candidate = this.#queue.shift();
      if (candidate !== undefined) {
        if (this.#accepts(candidate)) return candidate;
        this.#leftOut.push(candidate.index);
        continue;
      }
      if (this.#from >= this.#end) return null;
      const count = Math.min(BATCH, this.#end - this.#from);
      const { candidates, empty } = await sandboxes.synthesise({ ...this.#source, from: this.#from, count });
      this.#from += count;
      this.#leftOut.push(...empty.map(({ index }) => index));
      this.#queue = [...candidates];
    }
  }

  #accepts(candidate: CandidateRef): boolean {
    const key = shortKey(candidate.key);
    if (this.#seen.has(key)) return false;
    const functions = candidate.functions.map(shortName);
    if (functions.some((name) => (this.#perFunction.get(name) ?? 0) >= this.#cap)) return false;
    this.#seen.add(key);
    for (const name of functions) this.#perFunction.set(name, (this.#perFunction.get(name) ?? 0) + 1);
    return true;
  }
}
