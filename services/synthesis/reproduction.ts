/**
 * Reproductions: a command that calls the package as one failing assertion does, with what it really prints on the base tree and
 * on the solved tree. Proposals come from recordings (recorders.ts), scripts from the language (dialects.ts); only what a run of the command itself prints is believed.
 */
import type { SettledCall } from "./recording.ts";

export interface Proposal {
  readonly call: SettledCall;
  /** Name of the first failing test that looks at the call. */
  readonly assertion: string;
}

/** Proposals tried per task: the shortest; one process runs them all. */
const MAX_PROPOSALS = 120;

/** Calls that the failing assertions look at, shortest first; one that did not always print the same is left out. */
export function proposalsFor(
  recordings: readonly ReadonlyMap<string, readonly SettledCall[]>[],
  failToPass: readonly string[],
): Proposal[] {
  const printed = new Map<string, Set<string>>();
  for (const recording of recordings)
    for (const calls of new Set(recording.values()))
      for (const call of calls) {
        const known = printed.get(call.code);
        if (known === undefined) printed.set(call.code, new Set([call.printed]));
        else known.add(call.printed);
      }
  const proposals = new Map<string, Proposal>();
  for (const assertion of failToPass)
    for (const recording of recordings)
      for (const call of recording.get(assertion) ?? [])
        if (printed.get(call.code)!.size === 1 && !proposals.has(call.code))
          proposals.set(call.code, { call, assertion });
  return [...proposals.values()]
    .sort((a, b) => a.call.code.length - b.call.code.length || (a.call.code < b.call.code ? -1 : 1))
    .slice(0, MAX_PROPOSALS);
}

const MARK = "\u0001";

/** What each call printed, by its position; undefined where the script did not get that far. */
export function readBatch(output: string): (string | undefined)[] {
  const printed: (string | undefined)[] = [];
  for (const line of output.split("\n")) {
    if (!line.startsWith(MARK)) continue;
    const space = line.indexOf(" ");
    try {
      printed[Number(line.slice(1, space))] ??= JSON.parse(line.slice(space + 1));
    } catch {
      // Cut in the middle by a limit: as if the call had not ended.
    }
  }
  return printed;
}

/** The text that statements quote: output without the line break at its end. Null where it is no text or too long. */
export function quotable(output: Uint8Array, lines: number): string | null {
  const text = Buffer.from(output).toString("utf8").replace(/\n$/, "");
  return text.split("\n").length === lines && text.length <= 1300 && !/[^\P{Cc}\n]/u.test(text) ? text : null;
}
