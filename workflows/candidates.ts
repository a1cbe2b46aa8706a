/** A stream of unlike candidates in index order: synthesised in small batches, duplicates and what there is enough of left out. */
import type { CandidateRef, SynthesiseInput } from "../activities/types.ts";
import { shortKey, shortName } from "../core/candidates.ts";
import { Diversity, type Likeness, type Taken } from "../core/diversity.ts";
import type { DiversityCaps } from "../core/synthesis.ts";
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
  /** Absent = nothing but `perFunction` is capped. */
  readonly diversity?: Taken;
  /** Indices without a candidate of their own, by why; a list of a run from before they had reasons. */
  readonly leftOut: readonly number[] | Readonly<Partial<Record<LeftOutReason, readonly number[]>>>;
}

/** `nothing drawn`: no site is left, the author gave up, or what was drawn was used before by another pool or a fixed set. */
export type LeftOutReason = Likeness | "nothing drawn" | "duplicate" | "same function" | "unnamed";

const EMPTY: CandidateStreamState = { from: 0, queue: [], seen: [], perFunction: {}, leftOut: {} };

export class CandidateStream {
  readonly #source: Omit<SynthesiseInput, "from" | "count">;
  #end: number;
  readonly #cap: number;
  readonly #seen: Set<string>;
  readonly #perFunction: Map<string, number>;
  readonly #diversity: Diversity | null;
  readonly #leftOut: Map<LeftOutReason, number[]>;
  #queue: CandidateRef[];
  #from: number;

  /**
   * At most `maxCandidates` indices are drawn; at most `perFunctionCap` candidates change the same function. Settings from before there were
   * `caps` have none.
   */
  constructor(
    source: Omit<SynthesiseInput, "from" | "count">,
    limits: {
      readonly maxCandidates: number;
      readonly perFunctionCap: number;
      readonly caps?: DiversityCaps;
    },
    state: CandidateStreamState = EMPTY,
  ) {
    this.#source = source;
    this.#end = limits.maxCandidates;
    this.#cap = limits.perFunctionCap;
    this.#seen = new Set(state.seen);
    this.#perFunction = new Map(Object.entries(state.perFunction));
    this.#diversity = limits.caps === undefined ? null : new Diversity(limits.caps, state.diversity);
    const reasons = Array.isArray(state.leftOut) ? { unnamed: state.leftOut } : state.leftOut;
    this.#leftOut = new Map(
      Object.entries(reasons).map(([reason, indices]) => [reason as LeftOutReason, [...indices]]),
    );
    this.#queue = [...state.queue];
    this.#from = state.from;
  }

  get carried(): CandidateStreamState {
    return {
      from: this.#from,
      queue: this.#queue,
      seen: [...this.#seen],
      perFunction: Object.fromEntries(this.#perFunction),
      ...(this.#diversity === null ? {} : { diversity: this.#diversity.taken }),
      leftOut: Object.fromEntries(this.#leftOut),
    };
  }

  /** How many indices up to `last` were left out, by why. How far ahead of it the stream has read makes no difference. */
  leftOut(last: number): Readonly<Record<string, number>> {
    const counts = [...this.#leftOut].map(
      ([reason, indices]) => [reason, indices.filter((index) => index <= last).length] as const,
    );
    return Object.fromEntries(counts.filter(([, count]) => count > 0));
  }

  #leaveOut(index: number, reason: LeftOutReason): void {
    const indices = this.#leftOut.get(reason);
    if (indices === undefined) this.#leftOut.set(reason, [index]);
    else indices.push(index);
  }

  async next(): Promise<CandidateRef | null> {
    for (;;) {
      const candidate = this.#queue.shift();
      if (candidate !== undefined) {
        const reason = this.#refusal(candidate);
        if (reason === null) return this.#take(candidate);
        this.#leaveOut(candidate.index, reason);
        continue;
      }
      if (this.#from >= this.#end) return null;
      const count = Math.min(BATCH, this.#end - this.#from);
      const { candidates, empty, exhausted } = await sandboxes.synthesise({
        ...this.#source,
        from: this.#from,
        count,
      });
      this.#from += count;
      if (exhausted === true) this.#end = this.#from;
      for (const { index } of empty) this.#leaveOut(index, "nothing drawn");
      this.#queue = [...candidates];
    }
  }

  #refusal(candidate: CandidateRef): LeftOutReason | null {
    if (this.#seen.has(shortKey(candidate.key))) return "duplicate";
    const functions = candidate.functions.map(shortName);
    if (functions.some((name) => (this.#perFunction.get(name) ?? 0) >= this.#cap)) return "same function";
    const { diversity } = candidate;
    return diversity === undefined ? null : (this.#diversity?.likeness(diversity) ?? null);
  }

  #take(candidate: CandidateRef): CandidateRef {
    this.#seen.add(shortKey(candidate.key));
    for (const name of candidate.functions.map(shortName))
      this.#perFunction.set(name, (this.#perFunction.get(name) ?? 0) + 1);
    if (candidate.diversity !== undefined) this.#diversity?.take(candidate.diversity);
    return candidate;
  }
}
