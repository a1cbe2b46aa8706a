/** Reads what `cargo test` prints. Pure. */
import type { TestStatus } from "../../../core/task.ts";
import type { TestReport } from "../types.ts";
import { Results } from "./results.ts";
import { linesOf } from "./text.ts";
import type { ReportInput } from "./types.ts";

/**
 * Names are `<target> > <path>`, where the target is as cargo names it (`src/lib.rs (crate)`, `Doc-tests crate`), or the path alone where cargo's own
 * lines are missing. A target that does not compile is a failed test by its name. Complete when each `running <n> tests` has n results
 * and a `test result:` that counts them alike, whose word fits its numbers.
 */
export function parseCargoTest({ text, stderr, scope }: ReportInput): TestReport {
  const lines = linesOf(text);
  const errors = linesOf(stderr);
  const blocks = readBlocks(lines);
  const targets = [...lines, ...errors].map(targetIn).filter((target) => target !== undefined);
  const named = targets.length === blocks.length;
  const results = new Results(scope);
  for (const [index, block] of blocks.entries())
    for (const { name, status } of block.results)
      results.add(named ? `${targets[index]} > ${name}` : name, status);
  const broken = [...lines, ...errors].map(brokenIn).filter((target) => target !== undefined);
  for (const target of new Set(broken)) results.add(target, "failed");
  // Cargo's own last word, where a target failed: `error: test failed, to rerun pass …`, `error: 2 targets failed:`.
  const failed = [...lines, ...errors].some((line) => /^error: (?:test|\d+ targets?) failed\b/.test(line));
  const any = broken.length > 0 || blocks.some(({ said }) => said !== undefined && said.failed > 0);
  const paired = named || targets.length === 0;
  return results.report(
    paired && (any || !failed) && broken.length === 0 && blocks.length > 0 && blocks.every(isWhole),
  );
}

interface Block {
  readonly planned: number;
  readonly results: { readonly name: string; readonly status: TestStatus }[];
  said: Readonly<Record<TestStatus, number>> | undefined;
  /** The word before the numbers, them. */
  fits: boolean;
}

function isWhole({ planned, results, said, fits }: Block): boolean {
  if (said === undefined || !fits || results.length !== planned) return false;
  const counts = { passed: 0, failed: 0, skipped: 0, xfail: 0 };
  for (const { status } of results) counts[status]++;
  return counts.passed === said.passed && counts.failed === said.failed && counts.skipped === said.skipped;
}

const RESULT = /^test result: (\w+)\. (\d+) passed; (\d+) failed; (\d+) ignored; (\d+) measured; /;
const DOTS = " ... ";

function readBlocks(lines: readonly string[]): Block[] {
  const blocks: Block[] = [];
  let block: Block | undefined;
  /** Waits for its result behind what it prints. */
  let pending: string | undefined;
  let inDetails = false;
  for (const line of lines) {
    const planned = /^running (\d+) tests?$/.exec(line)?.[1];
    const said = RESULT.exec(line);
    if (planned !== undefined && (block === undefined || block.said !== undefined)) {
      block = { planned: Number(planned), results: [], said: undefined, fits: false };
      blocks.push(block);
      pending = undefined;
      inDetails = false;
    } else if (said) {
      if (block === undefined || block.said !== undefined) {
        // A second end of the same block: one of them is not the runner's.
        blocks.push({ planned: -1, results: [], said: undefined, fits: false });
        continue;
      }
      const [passed, failed, skipped, measured] = said.slice(2).map(Number) as [
        number,
        number,
        number,
        number,
      ];
      block.said = { passed: passed + measured, failed, skipped, xfail: 0 };
      block.fits = said[1] === (failed > 0 ? "FAILED" : "ok");
    } else if (block === undefined || block.said !== undefined || inDetails) continue;
    else if (line === "failures:" && pending === undefined) inDetails = true;
    else if (pending !== undefined) {
      const status = statusIn(line);
      if (status === undefined) continue;
      block.results.push({ name: pending, status });
      pending = undefined;
    } else if (line.startsWith("test ")) {
      const at = line.indexOf(DOTS);
      if (at < 0) continue;
      const name = line.slice("test ".length, at);
      const status = statusIn(line.slice(at + DOTS.length));
      if (status === undefined) pending = name;
      else block.results.push({ name, status });
    }
  }
  return blocks;
}

function statusIn(text: string): TestStatus | undefined {
  const [, word] = /^(ok|FAILED|ignored|bench:)(?:$|[ ,])/.exec(text) ?? [];
  if (word === "ok" || word === "bench:") return "passed";
  if (word === "FAILED") return "failed";
  return word === "ignored" ? "skipped" : undefined;
}

/** `     Running unittests src/lib.rs (target/debug/deps/name-0123456789abcdef)`, `   Doc-tests name` */
function targetIn(line: string): string | undefined {
  const doc = /^ {3}Doc-tests (\S+)$/.exec(line)?.[1];
  if (doc !== undefined) return `Doc-tests ${doc}`;
  const [, path, binary] = /^ {5}Running (?:unittests )?(\S+) \((\S+)\)$/.exec(line) ?? [];
  if (path === undefined || binary === undefined) return undefined;
  const crate = binary.slice(binary.lastIndexOf("/") + 1).replace(/-[0-9a-f]{16}$/, "");
  return `${path} (${crate})`;
}

/** `error: could not compile `name` (lib test) due to 1 previous error` */
function brokenIn(line: string): string | undefined {
  const [, name, target] = /^error: could not compile `([^`]+)` (\([^)]*\))/.exec(line) ?? [];
  return name === undefined ? undefined : `${name} ${target}`;
}
