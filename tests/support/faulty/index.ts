/** The set of faulty tasks (types.ts). Near-duplicates are no matter of a gate: tests/unit/diversity.test.ts, tests/unit/similarity.test.ts. */
import { LEAKS } from "./leaks.ts";
import { ENDLESS, FLAKY, SOLVED, UNBROKEN, UNBUILT, UNREPRODUCED } from "./runs.ts";
import { BOUND, VACUOUS, WEAK, WRONG_GOLD } from "./tests.ts";
import type { Faulty } from "./types.ts";
import { DISGUISES, NOT_FASTER, UNDETERMINED } from "./words.ts";

export { BENCHMARK, CONTAMINATED } from "./copies.ts";
export { SEEDS } from "./seeds.ts";
export { candidateOfFaulty, type Faulty } from "./types.ts";

export const FAULTY: readonly Faulty[] = [
  ...LEAKS,
  ...VACUOUS,
  ...WEAK,
  ...BOUND,
  ...WRONG_GOLD,
  ...UNBUILT,
  ...ENDLESS,
  ...FLAKY,
  ...UNBROKEN,
  ...SOLVED,
  ...UNREPRODUCED,
  ...UNDETERMINED,
  ...DISGUISES,
  ...NOT_FASTER,
];
