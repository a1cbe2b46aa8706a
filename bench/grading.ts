/**
 * Warm runners against cold ones: the tests of many mutated trees of several environments, graded both ways by turns. A warm runner is of use
 * only when it says the same on every tree.
 */
import { join } from "node:path";
import { canonicalJson } from "../core/canonical.ts";
import { random } from "../core/random.ts";
import type { FileChange } from "../core/task.ts";
import { dataFolder, prepareDataFolder } from "../infra/stack/index.ts";
import {
  environmentFiles,
  type PreparedEnvironment,
  prepareEnvironment,
} from "../services/environments/index.ts";
import {
  createGrading,
  decide,
  type GradingService,
  limitsOf,
  type TestRunResult,
} from "../services/grading/index.ts";
import { applyEdit, enumerateEdits } from "../services/javascript/index.ts";
import { createProcessRuntime } from "../services/sandbox/index.ts";
import { type BenchContext, type Measure, measure, temporaryFolder } from "./bench.ts";
import { interleaved, medians, timed } from "./repeat.ts";

/** Small and large, with few and many test files. */
const ENVIRONMENTS = ["minimist", "shell-quote", "qs"];
const TREES = 40;
const SEED = 1;

export async function run(context: BenchContext): Promise<readonly Measure[]> {
  const folder = await temporaryFolder(context);
  const runtime = createProcessRuntime({ root: join(folder, "sandboxes"), nodePath: process.execPath });
  const reason = await runtime.unavailable();
  if (reason !== null) throw new Error(reason);
  const grading = createGrading({ runtime });
  context.defer(() => grading.close());
  const data = prepareDataFolder(dataFolder());

  const measures: Measure[] = [];
  for (const name of ENVIRONMENTS) {
    const environment = await prepareEnvironment({
      name,
      dataFolder: data,
      runTests: (request) => grading.runTests(request, "cold"),
      log: context.progress,
    });
    measures.push(...(await compare(context, grading, environment)));
  }
  return measures;
}

async function compare(
  context: BenchContext,
  grading: GradingService,
  environment: PreparedEnvironment,
): Promise<Measure[]> {
  const { name } = environment.entry;
  const trees = mutatedTrees(environment.entry.sources, await environmentFiles(environment), TREES);
  const runTests = (overlay: readonly FileChange[], mode: "warm" | "cold") =>
    grading.runTests({ environment, overlay, ...limitsOf(environment) }, mode);
  // Both sides' first run: the warm process starts, the environment's tree is read.
  for (const mode of ["cold", "warm"] as const) await runTests([], mode);
  const results = await interleaved(trees.length, {
    subject: (tree) => timed(() => runTests(trees[tree]!, "warm")),
    reference: (tree) => timed(() => runTests(trees[tree]!, "cold")),
  });
  const apart = trees.flatMap((_, tree) => {
    const difference = differenceOf(
      environment,
      results.subject[tree]!.value,
      results.reference[tree]!.value,
    );
    return difference === null ? [] : [`${name}, tree ${tree}: ${difference}`];
  });
  for (const line of apart) context.progress(line);
  const { subject, reference } = medians(results, ({ seconds }) => seconds * 1000);
  const broken = results.reference.filter(
    ({ value }) => verdictOf(environment, value) !== "all-passed",
  ).length;
  context.progress(
    `${name}: warm ${subject.toFixed(0)} ms, cold ${reference.toFixed(0)} ms; ${trees.length - apart.length} of ${trees.length} trees agree, ${broken} of them fail tests`,
  );
  return [
    measure({ name: `${name}: warm run`, value: subject, unit: "ms", reference, better: "lower", goal: 1 }),
    measure({
      name: `${name}: agreement`,
      value: trees.length - apart.length,
      unit: "trees",
      reference: trees.length,
      better: "higher",
      goal: 1,
    }),
  ];
}

/** `count` trees with one edit each, drawn without repetition from every edit of every source; fewer where there are fewer edits. */
export function mutatedTrees(
  sources: readonly string[],
  files: ReadonlyMap<string, string>,
  count: number,
): FileChange[][] {
  const sites = sources.flatMap((path) => enumerateEdits(files.get(path)!).map((edit) => ({ path, edit })));
  return random(SEED, "bench", "grading", ...sources)
    .shuffle(sites)
    .slice(0, count)
    .map(({ path, edit }) => [
      { kind: "write", path, content: applyEdit(files.get(path)!, edit), encoding: "utf8" },
    ]);
}

type Run = Pick<
  TestRunResult,
  "report" | "exitCodes" | "contradictions" | "ended" | "outOfMemory" | "stoppedBy" | "treeHash"
>;
type Tested = Pick<PreparedEnvironment, "baseline">;

/**
 * Null when no task could get two different outcomes from the two runs. Runs that a limit ended fail every task alike: how far they had
 * come, and which limit a runaway met first, is decided by chance and by no verdict.
 */
export function differenceOf(environment: Tested, warm: Run, cold: Run): string | null {
  if (warm.treeHash !== cold.treeHash) return "the trees are not the same";
  if (!warm.ended && !cold.ended) return null;
  const rules = [verdictOf(environment, warm), verdictOf(environment, cold)];
  if (rules[0] !== rules[1]) return `warm says ${rules[0]}, cold says ${rules[1]}`;
  if (canonicalJson(warm.report) !== canonicalJson(cold.report)) return "the tests have not the same status";
  return canonicalJson(warm.exitCodes) === canonicalJson(cold.exitCodes)
    ? null
    : "the exit codes are not the same";
}

/** The rule for the task that asks for everything the untouched tree passes. */
function verdictOf({ baseline }: Tested, run: Run): string {
  const failToPass = Object.keys(baseline).filter((test) => baseline[test] === "passed");
  return decide({ failToPass, passToPass: [] }, run).rule;
}
