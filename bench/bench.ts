/** What a bench is: measures, each beside its reference from the same run, and the goal its ratio has. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Measure {
  readonly name: string;
  readonly value: number;
  /** Of `value` and `reference`. */
  readonly unit: string;
  readonly reference: number;
  /** value / reference */
  readonly ratio: number;
  readonly better: "lower" | "higher";
  /** Bound of the ratio, itself allowed; null = shown for information. */
  readonly goal: number | null;
  /** False when the goal is missed. */
  readonly ok: boolean;
}

/** Throws RangeError where no ratio can be formed: such a number says nothing. */
export function measure(parts: Omit<Measure, "ratio" | "ok">): Measure {
  const { name, value, reference, better, goal } = parts;
  const ratio = value / reference;
  if (!Number.isFinite(ratio))
    throw new RangeError(
      `${name}: ${value} against ${reference} has no ratio; expected finite numbers, reference not 0`,
    );
  const ok = goal === null || (better === "lower" ? ratio <= goal : ratio >= goal);
  return { ...parts, ratio, ok };
}

export interface BenchContext {
  /** A smaller run was asked for, where the bench has one. */
  readonly quick: boolean;
  /** A line for people who wait. */
  progress(line: string): void;
  /** Runs once the bench has ended, however it ended; the last one first. */
  defer(cleanup: () => unknown): void;
}

export interface BenchModule {
  run(context: BenchContext): Promise<readonly Measure[]>;
}

/** Removed when the bench has ended. */
export async function temporaryFolder(context: BenchContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tadpole-bench-"));
  context.defer(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
