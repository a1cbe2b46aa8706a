/**
 * Decontamination: a task must not share 13 words in a row with a benchmark. A benchmark is kept as the hashes of its runs of 13 words, 48 bits
 * each, so that its text need not travel to the machines that validate.
 */
import { hash } from "node:crypto";
import type { AuthoredText, FileChange } from "../../core/task.ts";
import { textsOf } from "./changes.ts";

const RUN_WORDS = 13;
/** A row of numbers is nobody's text. */
const LEAST_WITH_LETTERS = 7;
const HASH_BYTES = 6;

export interface Benchmark {
  /** As messages call it. */
  readonly name: string;
  readonly runs: ReadonlySet<number>;
}

/** A benchmark as an artifact: its hashes in ascending order, as base64. */
export interface BenchmarkFile {
  readonly name: string;
  readonly runs: string;
}

/** Every run of 13 words of the text, lower-cased, as it is hashed and as it reads. */
function* runsOf(text: string): Generator<{ readonly hash: number; readonly words: string }> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  for (let start = 0; start + RUN_WORDS <= words.length; start++) {
    const run = words.slice(start, start + RUN_WORDS);
    if (run.filter((word) => /\p{L}/u.test(word)).length < LEAST_WITH_LETTERS) continue;
    const joined = run.join(" ");
    yield { hash: hash("sha256", joined, "buffer").readUIntBE(0, HASH_BYTES), words: joined };
  }
}

export async function indexBenchmark(
  name: string,
  texts: AsyncIterable<string> | Iterable<string>,
): Promise<BenchmarkFile> {
  const found = new Set<number>();
  for await (const text of texts) for (const run of runsOf(text)) found.add(run.hash);
  const bytes = Buffer.alloc(found.size * HASH_BYTES);
  for (const [i, run] of [...found].sort((a, b) => a - b).entries())
    bytes.writeUIntBE(run, i * HASH_BYTES, HASH_BYTES);
  return { name, runs: bytes.toString("base64") };
}

export function openBenchmark({ name, runs }: BenchmarkFile): Benchmark {
  const bytes = Buffer.from(runs, "base64");
  const count = bytes.length / HASH_BYTES;
  const hashes = Array.from({ length: count }, (_, i) => bytes.readUIntBE(i * HASH_BYTES, HASH_BYTES));
  return { name, runs: new Set(hashes) };
}

/** What of a candidate is its own: its words, the lines that its solution adds, the tests that it brings. `before` reads the base tree. */
export function ownTexts(
  candidate: {
    readonly text?: AuthoredText;
    readonly gold: readonly FileChange[];
    readonly tests?: readonly FileChange[];
  },
  before: (path: string) => string,
): { readonly part: string; readonly text: string }[] {
  const { text, tests = [] } = candidate;
  const added = [...textsOf(candidate.gold)].map(([path, solved]) => {
    const known = new Set(before(path).split("\n"));
    return solved
      .split("\n")
      .filter((line) => !known.has(line))
      .join("\n");
  });
  return [
    { part: "the text", text: text === undefined ? "" : `${text.title}\n${text.body}\n${text.contract}` },
    ...added.map((lines) => ({ part: "the solution", text: lines })),
    ...[...textsOf(tests).values()].map((source) => ({ part: "a hidden test", text: source })),
  ];
}

export function contaminated(
  texts: readonly { readonly part: string; readonly text: string }[],
  benchmarks: readonly Benchmark[],
): { readonly passed: boolean; readonly evidence: string } {
  for (const { part, text } of texts)
    for (const run of runsOf(text)) {
      const found = benchmarks.find((benchmark) => benchmark.runs.has(run.hash));
      if (found !== undefined)
        return { passed: false, evidence: `${part} shares 13 words with ${found.name}: ${run.words}` };
    }
  return {
    passed: true,
    evidence: `shares no 13 words in a row with ${benchmarks.map(({ name }) => name).join(", ")}`,
  };
}
