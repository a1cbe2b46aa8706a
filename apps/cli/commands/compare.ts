/** `compare`: experiments side by side, in the terminal or on a page. */
import { writeFile } from "node:fs/promises";
import type { Command } from "commander";
import type { Estimate } from "../../../core/statistics.ts";
import type { Churn } from "../../../services/store/index.ts";
import type { ArmNames, ComparedPool, Comparison } from "../../control/compare.ts";
import { examples, wantsJson } from "../command.ts";
import { UsageError } from "../errors.ts";
import { type Column, formatPercent, formatTable, writeJson, writeLine } from "../output.ts";

export function register(program: Command): void {
  const command = program
    .command("compare")
    .description("compare experiments: learning curves, paired differences with intervals, task pools")
    .argument(
      "<arm...>",
      "<experiment>, or <arm>=<experiment>,<experiment>,… for several seeds; the first is the reference",
    )
    .option("--html <file>", "write a page with plots besides")
    .action(async (words: string[], options: { readonly html?: string }, self: Command) => {
      const arms = readArms(words);
      const { compareExperiments, unfinished, withRecord } = await import("../../control/index.ts");
      const comparison = await withRecord((session) => compareExperiments(session, arms));
      if (options.html !== undefined) {
        const { renderComparison } = await import("../../report/compare.ts");
        await writeFile(options.html, renderComparison(comparison));
      }
      if (wantsJson(self)) return writeJson(comparison);
      write(comparison, unfinished(comparison));
      if (options.html !== undefined) writeLine(`\nwrote ${options.html}`);
    });
  examples(command, [
    "compare quickstart-1 quickstart-2",
    "compare calibrated=cal-1,cal-2,cal-3 uncalibrated=unc-1,unc-2,unc-3 --html compare.html",
  ]);
}

function readArms(words: readonly string[]): ArmNames[] {
  const arms = words.map((word): ArmNames => {
    const [name, list = name, ...rest] = word.split("=");
    const experiments = list!.split(",");
    if (!name || rest.length > 0 || experiments.some((experiment) => experiment === ""))
      throw new UsageError(
        `${JSON.stringify(word)}: expected an experiment, or <arm>=<experiment>,<experiment>,…`,
      );
    return { name, experiments };
  });
  for (const { name, experiments } of arms) {
    const again = experiments.find((experiment, index) => experiments.indexOf(experiment) < index);
    if (again !== undefined)
      throw new UsageError(`compare: expected each experiment of ${name} once, found ${again} twice`);
  }
  if (arms.length < 2) throw new UsageError(`compare: expected at least two arms, found ${arms.length}`);
  const names = arms.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined)
    throw new UsageError(`compare: expected arms of different names, found ${twice} twice`);
  return arms;
}

const interval = ({ mean, low, high }: Estimate): string =>
  `${formatPercent(mean)} [${(low * 100).toFixed(1)}, ${(high * 100).toFixed(1)}]`;

const signed = (value: number): string => `${value < 0 ? "−" : "+"}${Math.abs(value * 100).toFixed(1)}`;

const difference = (found: Estimate | null): string | null =>
  found && `${signed(found.mean)} [${signed(found.low)}, ${signed(found.high)}]`;

const share = (part: number, whole: number): string | null =>
  whole === 0 ? null : formatPercent(part / whole);

const churned = (found: Churn | undefined): string | null =>
  found === undefined ? null : share(found.new, found.of);

const counted = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(", ");

/** Of the table of pools. */
const LEGEND = `learnable, refined: of probed tasks those in the admitted band, at the first probe and after refinement
no variance: of the groups that the climb sampled itself those whose rewards were all equal
words: mean of a statement as it was admitted
new functions, new files: of those that an iteration's tasks change, the ones that no task of the iteration before does`;

function write({ arms, unequalBudgets }: Comparison, unfinished: readonly string[]): void {
  const [reference] = arms;
  const results: readonly Column<Comparison["arms"][number]>[] = [
    { title: "arm", value: ({ name }) => name },
    { title: "experiments", align: "right", value: ({ experiments }) => experiments.length },
    { title: "tasks", align: "right", value: ({ tasks }) => tasks },
    { title: "iteration", align: "right", value: ({ curve }) => curve.at(-1)!.iteration },
    { title: "first", value: ({ curve }) => interval(curve[0]!) },
    { title: "last", value: ({ curve }) => interval(curve.at(-1)!) },
    { title: "rollouts", align: "right", value: ({ curve }) => curve.at(-1)!.rollouts.toFixed(0) },
    { title: "gain, points", value: ({ gain }) => difference(gain) },
    { title: `against ${reference!.name}, points`, value: (arm) => difference(arm.difference) },
  ];
  writeLine(formatTable(arms, results));
  writeLine();
  const pools: readonly Column<ComparedPool & { readonly arm: string }>[] = [
    { title: "pool of", value: ({ experiment }) => experiment },
    { title: "arm", value: ({ arm }) => arm },
    { title: "candidates", align: "right", value: ({ candidates }) => candidates },
    { title: "valid", align: "right", value: ({ valid }) => valid },
    { title: "learnable", align: "right", value: (pool) => share(pool.learnableAtFirst, pool.probed) },
    { title: "refined", align: "right", value: (pool) => share(pool.learnableAtLast, pool.probed) },
    { title: "admitted", align: "right", value: ({ admitted }) => admitted },
    { title: "hinted", align: "right", value: ({ hinted }) => hinted },
    { title: "types", value: ({ types }) => counted(types) },
    { title: "no variance", align: "right", value: (pool) => share(pool.zeroVariance, pool.groups) },
    { title: "words", align: "right", value: ({ statementWords }) => statementWords?.toFixed(0) ?? null },
    { title: "new functions", align: "right", value: ({ churn }) => churned(churn?.functions) },
    { title: "new files", align: "right", value: ({ churn }) => churned(churn?.files) },
    { title: "updates", align: "right", value: ({ updates }) => updates },
    { title: "probe rollouts", align: "right", value: ({ rollouts }) => rollouts.probe },
    { title: "hint rollouts", align: "right", value: ({ rollouts }) => rollouts.hints },
    { title: "climb rollouts", align: "right", value: ({ rollouts }) => rollouts.climb },
  ];
  writeLine(
    formatTable(
      arms.flatMap(({ name: arm, pools: own }) => own.map((pool) => ({ arm, ...pool }))),
      pools,
    ),
  );
  writeLine(`\n${LEGEND}`);
  for (const line of unfinished) writeLine(`\n${line}`);
  if (unequalBudgets)
    writeLine(
      "\nthe arms did not make equally many rollouts, probes among them: a difference may be the budget's",
    );
}
