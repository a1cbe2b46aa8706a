/** Which candidates of a pool are too much like those taken before: caps by attribute, and sketches that are too close. */
import { shortName } from "./candidates.ts";
import { SKETCH_LENGTH, sketchDistance } from "./similarity.ts";
import type { DiversityCaps } from "./synthesis.ts";

/** Of one candidate. */
export interface Attributes {
  /** Files that its task is about, as `<package>#<file>`. */
  readonly files: readonly string[];
  readonly operators: readonly string[];
  /** What it was made from, where that can be the origin of others. */
  readonly lineage: string | null;
  readonly sketch: string;
}

/** What was taken so far: small, for it is carried from run to run. */
export interface Taken {
  readonly counts: Readonly<Record<string, number>>;
  /** Sketches one after the other. */
  readonly sketches: string;
}

/** Why a candidate is left out. */
export type Likeness = "same file" | "same operator" | "same origin" | "near-duplicate";

const NOTHING: Taken = { counts: {}, sketches: "" };

export class Diversity {
  readonly #caps: DiversityCaps;
  readonly #counts: Map<string, number>;
  #sketches: string;

  constructor(caps: DiversityCaps, taken: Taken = NOTHING) {
    this.#caps = caps;
    this.#counts = new Map(Object.entries(taken.counts));
    this.#sketches = taken.sketches;
  }

  get taken(): Taken {
    return { counts: Object.fromEntries(this.#counts), sketches: this.#sketches };
  }

  /** Null = it may be taken. */
  likeness(candidate: Attributes): Likeness | null {
    for (const { likeness, cap, keys } of this.#capped(candidate))
      if (keys.some((key) => (this.#counts.get(key) ?? 0) >= cap)) return likeness;
    return this.#isNear(candidate.sketch) ? "near-duplicate" : null;
  }

  take(candidate: Attributes): void {
    for (const { keys } of this.#capped(candidate))
      for (const key of keys) this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    if (this.#caps.nearDuplicateBits !== null) this.#sketches += candidate.sketch;
  }

  /** What has a cap, each key once; what has none is not counted. */
  #capped({ files, operators, lineage }: Attributes) {
    const { perFile, perOperator, perLineage } = this.#caps;
    const of = (likeness: Likeness, letter: string, cap: number | null, names: readonly string[]) =>
      cap === null
        ? []
        : [{ likeness, cap, keys: [...new Set(names)].map((name) => letter + shortName(name)) }];
    return [
      ...of("same file", "f", perFile, files),
      ...of("same operator", "o", perOperator, operators),
      ...of("same origin", "l", perLineage, lineage === null ? [] : [lineage]),
    ];
  }

  #isNear(sketch: string): boolean {
    const least = this.#caps.nearDuplicateBits;
    if (least === null) return false;
    for (let start = 0; start < this.#sketches.length; start += SKETCH_LENGTH)
      if (sketchDistance(sketch, this.#sketches.slice(start, start + SKETCH_LENGTH)) < least) return true;
    return false;
  }
}
