/**
 * `npm test [-- LANE…]`: the checks of the project, then its test lanes one after the other. A lane is a folder of `tests/`.
 * `npm run test:gpu-path`: the lane of that name alone, without the checks.
 * The last line counts the tests of all lanes. A lane this machine cannot run is named; with CI=true it is a failure.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageRoot } from "../infra/stack/paths.ts";
import { addCounts, type Counts, countReport, lastLine, missingFor, noCounts } from "./lanes.ts";

const usual = ["unit", "contract", "integration", "replay", "e2e"] as const;
/** Needs an environment of gigabytes (`npm run gpu-path:install`), so it runs only where it is named. */
const lanes = [...usual, "gpu-path"] as const;
const checks: readonly (readonly [string, readonly string[]])[] = [
  ["biome", ["node_modules/@biomejs/biome/bin/biome", "check", "--error-on-warnings", "."]],
  ["tsc", ["node_modules/typescript/bin/tsc", "--noEmit"]],
  ["arrows", ["infra/arrows.ts"]],
  ["schema", ["infra/schema.ts", "--check"]],
];
const vitest = "node_modules/vitest/vitest.mjs";
/**
 * Integration tests wait for servers, leases and timers: one file's processor time fits into the waiting of two others. A trainer uses all
 * processors by itself.
 */
const workers: Partial<Record<(typeof lanes)[number], number>> = { integration: 3, "gpu-path": 1 };
/** Milliseconds a test may take where the usual patience is short: torch alone takes half a minute to load on a busy machine. */
const patience: Partial<Record<(typeof lanes)[number], number>> = { "gpu-path": 600_000 };

/**
 * Runs a script of the checkout with this Node. Resolves with its exit code and its output. Tests start hundreds of processes of
 * the same modules, which share what Node compiled of them in `compiled`.
 */
function node(
  args: readonly string[],
  compiled?: string,
): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, ...(compiled === undefined ? {} : { NODE_COMPILE_CACHE: compiled }) };
    const child = spawn(process.execPath, [...args], {
      cwd: packageRoot,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    const keep = (bytes: Buffer) => {
      output += bytes;
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    child.once("error", reject);
    child.once("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

function line(ok: boolean, name: string, started: number, text = ""): void {
  const seconds = ((performance.now() - started) / 1000).toFixed(1).padStart(6);
  console.log(`${ok ? "✓" : "✗"} ${name.padEnd(12)} ${seconds} s  ${text}`.trimEnd());
}

async function runChecks(): Promise<boolean> {
  let good = true;
  for (const [name, args] of checks) {
    const started = performance.now();
    const { code, output } = await node(args);
    line(code === 0, name, started);
    if (code !== 0) console.log(output.trim());
    good &&= code === 0;
  }
  return good;
}

interface LaneResult {
  readonly counts: Counts;
  readonly good: boolean;
}

async function runLane(lane: (typeof lanes)[number], reports: string): Promise<LaneResult> {
  const started = performance.now();
  const report = join(reports, `${lane}.json`);
  const more = [
    ...(lane in workers ? [`--maxWorkers=${workers[lane]}`] : []),
    ...(lane in patience ? [`--testTimeout=${patience[lane]}`, `--hookTimeout=${patience[lane]}`] : []),
  ];
  const reporters = ["--reporter=dot", "--reporter=json", `--outputFile.json=${report}`];
  const { code, output } = await node(
    [vitest, "run", `tests/${lane}/`, ...more, ...reporters],
    join(reports, "compiled"),
  );
  if (!existsSync(report)) {
    line(false, lane, started, "vitest wrote no report");
    console.log(output.trim());
    return { counts: noCounts, good: false };
  }
  const counts = countReport(JSON.parse(readFileSync(report, "utf8")));
  const good = code === 0 && counts.failed === 0 && counts.passed > 0;
  line(good, lane, started, lastLine(counts));
  if (!good) console.log(output.trim());
  return { counts, good };
}

function hasTests(lane: string): boolean {
  const folder = join(packageRoot, "tests", lane);
  return (
    existsSync(folder) &&
    readdirSync(folder, { recursive: true }).some((file) => `${file}`.endsWith(".test.ts"))
  );
}

async function main(wanted: readonly string[]): Promise<number> {
  const unknown = wanted.find((name) => !(lanes as readonly string[]).includes(name));
  if (unknown !== undefined) {
    console.error(`npm test: expected lanes of ${lanes.join(", ")}; got "${unknown}"`);
    return 2;
  }
  const chosen = wanted.length > 0 ? lanes.filter((lane) => wanted.includes(lane)) : usual;
  let good = chosen.every((lane) => lane === "gpu-path") || (await runChecks());
  let counts = noCounts;
  const left: string[] = [];
  const reports = mkdtempSync(join(tmpdir(), "tadpole-tests-"));
  try {
    for (const lane of chosen) {
      const missing = hasTests(lane) ? await missingFor(lane) : "it has no tests";
      if (missing !== null) {
        left.push(`lane ${lane} did not run: ${missing}`);
        continue;
      }
      const result = await runLane(lane, reports);
      counts = addCounts(counts, result.counts);
      good &&= result.good;
    }
  } finally {
    rmSync(reports, { recursive: true, force: true });
  }
  for (const text of left) console.log(text);
  if (left.length > 0 && process.env.CI === "true") {
    console.log("with CI=true every lane has to run");
    good = false;
  }
  console.log(lastLine(counts));
  return good && counts.passed > 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
