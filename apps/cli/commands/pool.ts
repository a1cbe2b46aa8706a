/** `pool`: what became of an experiment's candidates, and what its pools hold. */
import type { Command } from "commander";
import type { UnitCost } from "../../../core/cost.ts";
import { passBars } from "../../../core/details.ts";
import type { Churn } from "../../../services/store/index.ts";
import type { PricedPool } from "../../control/index.ts";
import { examples, wantsJson } from "../command.ts";
import { formatPercent, formatSeconds, writeJson, writeLine } from "../output.ts";

export function register(program: Command): void {
  const command = program
    .command("pool")
    .description("show the task pools of an experiment: candidates by outcome, pass rates, kinds, novelty")
    .argument("<experiment>", "name of the experiment (tadpole list)")
    .option("--iteration <n>", "only that of one iteration")
    .action(async (name: string, options: { readonly iteration?: string }, self: Command) => {
      const { readCount, showPools, withRecord } = await import("../../control/index.ts");
      const iteration =
        options.iteration === undefined
          ? undefined
          : readCount("iteration", options.iteration, 1, 999_999_999);
      const found = await withRecord((session) => showPools(session, name, iteration));
      if (wantsJson(self)) return writeJson(found);
      if (found.pools.length === 0) return writeLine(`${name} has no pool yet`);
      for (const [index, pool] of found.pools.entries()) {
        if (index > 0) writeLine();
        write(pool);
      }
      writeLine(`\n${READ}`);
    });
  examples(command, ["pool quickstart-1", "pool quickstart-1 --iteration 2 --json"]);
}

/** Where counts differ from those of `tadpole cost`. */
const READ =
  "candidates and their rollouts count as far as their results were read; what else was begun beside them is in tadpole cost";

/** Of the names of facts. */
const WIDTH = 30;

const share = (part: number, whole: number): string =>
  whole === 0 ? "–" : `${formatPercent(part / whole)} (${part} of ${whole})`;

const churned = (found: Churn): string => share(found.new, found.of);

const counted = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .sort(([a, more], [b, less]) => less - more || (a < b ? -1 : 1))
    .map(([name, count]) => `${count} ${name}`)
    .join(", ");

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((total, count) => total + count, 0);

/** Money where there is a price for anything. */
const spent = ({ usd, tokens, sandboxSeconds }: UnitCost): string =>
  [
    ...(usd !== null && usd > 0 ? [`${usd.toPrecision(2)} US dollars`] : []),
    `${Math.round(tokens).toLocaleString("en")} tokens`,
    `${formatSeconds(sandboxSeconds)} of sandboxes`,
  ].join(", ");

function write(pool: PricedPool): void {
  const attempt = pool.try === 1 ? "" : `, try ${pool.try}`;
  writeLine(`iteration ${pool.iteration}${attempt} · ${pool.status} · against ${pool.policy}`);
  writeLine(
    pool.given
      ? `${pool.admitted} tasks, those of an earlier iteration`
      : `${pool.admitted} tasks of ${pool.candidates} candidates, ${pool.refined} of them worded anew`,
  );
  const reasons = (["rejected", "dropped", "leftOut"] as const).filter((of) => sum(pool[of]) > 0);
  const said = { rejected: "rejected by", dropped: "dropped as", leftOut: "no candidate" } as const;
  for (const of of reasons) writeLine(`  ${said[of]}: ${counted(pool[of])}`);
  const facts: [string, string | null][] = [
    ["types", counted(pool.types) || null],
    ["made by", counted(pool.kinds) || null],
    ["environments", counted(pool.environments) || null],
    ["statement levels", counted(pool.levels) || null],
    ["words of a statement, mean", pool.statementWords?.toFixed(0) ?? null],
    ["new functions", pool.churn && churned(pool.churn.functions)],
    ["new files", pool.churn && churned(pool.churn.files)],
    ["learnable at the first probe", pool.probed === 0 ? null : share(pool.learnableAtFirst, pool.probed)],
    ["learnable after refinement", pool.probed === 0 ? null : share(pool.learnableAtLast, pool.probed)],
    ["groups without variance", pool.groups === 0 ? null : share(pool.zeroVariance, pool.groups)],
    ["an admitted task took", pool.perAdmitted && spent(pool.perAdmitted)],
    [
      "solvable with a hint only",
      pool.hinted === 0 ? null : `${pool.hinted} tasks, climbed apart from these`,
    ],
    ["rollouts", rolloutsOf(pool)],
  ];
  for (const [name, value] of facts) if (value !== null) writeLine(`${name.padEnd(WIDTH)}${value}`);
  histogram("passes at the first probe", pool.firstProbe);
  if (pool.refined > 0) histogram("passes after refinement", pool.lastProbe);
}

function rolloutsOf({ rollouts, updates }: PricedPool): string {
  const hints = rollouts.hints === 0 ? "" : `${rollouts.hints} of hints, `;
  return `${rollouts.probe} of probes, ${hints}${rollouts.climb} of ${updates} updates`;
}

function histogram(title: string, { counts }: PricedPool["firstProbe"]): void {
  const bars = passBars(counts);
  if (bars !== "") writeLine(`\n${title}\n${bars}`);
}
