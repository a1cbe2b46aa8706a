/**
 * Reproductions: a command that calls the package as one failing assertion does, with what it really prints on the base tree and
 * on the solved tree. Proposals come from recordings; only what a run of the command itself prints is believed.
 */
import type { Reproduction } from "../../core/task.ts";
import type { RecordedCall, Recording } from "./recording.ts";
import { quoteShell } from "./shell.ts";

export interface Proposal {
  readonly call: RecordedCall;
  /** Key of the first failing assertion that looks at the call. */
  readonly assertion: string;
}

/** Proposals tried per task: the shortest; one process runs them all. */
const MAX_PROPOSALS = 120;

const SHOW =
  'const show = (f) => { try { console.log(util.inspect(f(), { depth: null, compact: true, breakLength: Infinity })) } catch (e) { console.log(String(e).split("\\n")[0]) } }';

/** The command of a reproduction: one line of output for each call, a value or the first line of the error. */
export function reproductionOf(calls: readonly string[]): Pick<Reproduction, "code" | "command"> {
  const code = [SHOW, ...calls.map((call) => `show(() => ${call})`)].join("; ");
  return { code, command: `node -e ${quoteShell(code)}` };
}

/** Calls that the failing assertions look at, shortest first; one that did not always print the same is left out. */
export function proposalsFor(recordings: readonly Recording[], failToPass: readonly string[]): Proposal[] {
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

/** A script that runs the calls one by one and marks each line of its own; a call that never ends leaves the later ones out. */
export function batchScript(calls: readonly string[]): string {
  const one = (call: string, i: number) => `mark(${i}, () => ${call});`;
  return [
    "const options = { depth: null, compact: true, breakLength: Infinity };",
    `const mark = (i, f) => { let text; try { text = util.inspect(f(), options) } catch (e) { text = String(e).split("\\n")[0] } fs.writeSync(1, "\\n\\u0001" + i + " " + JSON.stringify(text) + "\\n") };`,
    ...calls.map(one),
  ].join("\n");
}

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
