/** The totals that jest and vitest print below their results, against the results that were read. Pure. */
import type { TestStatus } from "../../../core/task.ts";

const COUNTED = new Set(["failed", "passed", "expected fail", "skipped", "todo", "total"]);

/** Of parts like `2 passed`; undefined where they count what nobody knows, or twice. */
export function totalsOf(parts: readonly string[]): ReadonlyMap<string, number> | undefined {
  const said = new Map<string, number>();
  for (const part of parts) {
    const [, number, word = ""] = /^(\d+) ([a-z ]+)$/.exec(part) ?? [];
    if (!COUNTED.has(word) || said.has(word)) return undefined;
    said.set(word, Number(number));
  }
  return said;
}

/** Whether as many results of each status were read. A failure that was expected is a pass. */
export function agree(
  said: ReadonlyMap<string, number> | undefined,
  { passed, failed, skipped, xfail }: Readonly<Record<TestStatus, number>>,
): boolean {
  const of = (word: string): number => said?.get(word) ?? 0;
  return (
    said?.get("total") === passed + failed + skipped + xfail &&
    of("passed") + of("expected fail") === passed &&
    of("failed") === failed &&
    of("skipped") === skipped &&
    of("todo") === xfail
  );
}
