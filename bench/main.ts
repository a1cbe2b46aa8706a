/** `npm run bench [-- NAME] [--quick] [--json] [--strict]`: runs one bench or all; each value beside its reference of the same run. */
import { parseArgs } from "node:util";
import type { BenchContext } from "./bench.ts";
import { BENCHES, type BenchEntry } from "./registry.ts";
import { type BenchReport, exitCodeOf, renderReports } from "./report.ts";

const HELP = `Usage: npm run bench [-- [NAME] [--quick] [--json] [--strict]]

Measures Tadpole against references taken in the same run, by turns. Without NAME, every bench one after the other.

Benches:
${BENCHES.map(({ name, about }) => `  ${name.padEnd(10)}${about}`).join("\n")}

Options:
  --quick     a smaller run, where a bench has one: scale, sandbox
  --json      write {name, measures: [{name, value, unit, reference, ratio, better, goal, ok}]}; an array of them without NAME
  --strict    exit with 1 when a goal is missed; scale always does
  -h, --help  show this

Exit codes: 0 done, 1 a bench could not run, or missed a goal (scale, or with --strict), 2 bad input.
`;

interface Options {
  /** Null = all. */
  readonly name: string | null;
  readonly quick: boolean;
  readonly json: boolean;
  readonly strict: boolean;
  readonly help: boolean;
}

/** Throws an Error of one line for what it does not know. */
function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      strict: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const known = BENCHES.map(({ name }) => name);
  const unknown = positionals.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`no bench "${unknown}"; expected one of ${known.join(", ")}`);
  if (positionals.length > 1) throw new Error(`expected one NAME or none, got ${positionals.join(" ")}`);
  return { name: positionals[0] ?? null, ...values };
}

const cleanups: (() => unknown)[] = [];

async function cleanUp(): Promise<void> {
  for (let next = cleanups.pop(); next !== undefined; next = cleanups.pop())
    try {
      await next();
    } catch (error) {
      process.stderr.write(`bench: cleaning up: ${messageOf(error)}\n`);
    }
}

async function runBench({ name, load }: BenchEntry, quick: boolean): Promise<BenchReport> {
  const context: BenchContext = {
    quick,
    progress: (line) => process.stderr.write(`${name}: ${line}\n`),
    defer: (cleanup) => cleanups.push(cleanup),
  };
  try {
    return { name, measures: await (await load()).run(context) };
  } catch (error) {
    if (process.env.TADPOLE_DEBUG === "1") console.error(error);
    return { name, measures: [], error: messageOf(error) };
  } finally {
    await cleanUp();
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function main(args: readonly string[]): Promise<number> {
  let options: Options;
  try {
    options = readOptions(args);
  } catch (error) {
    process.stderr.write(`bench: ${messageOf(error)}\n`);
    return 2;
  }
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const reports: BenchReport[] = [];
  for (const entry of BENCHES)
    if (options.name === null || options.name === entry.name)
      reports.push(await runBench(entry, options.quick));
  const value = options.name === null ? reports : reports[0];
  process.stdout.write(`${options.json ? JSON.stringify(value, null, 2) : renderReports(reports)}\n`);
  const promises = reports.filter(({ name }) => BENCHES.find((entry) => entry.name === name)?.strict);
  return exitCodeOf(reports, options.strict) || exitCodeOf(promises, true);
}

// A bench that is stopped leaves no server and no folder behind.
for (const [signal, number] of [
  ["SIGINT", 2],
  ["SIGTERM", 15],
] as const)
  process.once(signal, () => void cleanUp().finally(() => process.exit(128 + number)));

process.once("uncaughtException", (error) => {
  console.error(error);
  void cleanUp().finally(() => process.exit(1));
});

process.exitCode = await main(process.argv.slice(2));
