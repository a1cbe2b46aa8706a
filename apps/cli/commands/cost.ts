/** `cost`: what an experiment used and paid, and what for. */
import type { Command } from "commander";
import { COST_GROUPINGS, type Cost, type CostGrouping, type UnitCost } from "../../../core/cost.ts";
import { type BudgetSettings, formatUsd, roundUsd, type TokenCounts } from "../../../core/spend.ts";
import type { ExperimentCost, GeneratorCost } from "../../control/cost.ts";
import { examples, wantsJson } from "../command.ts";
import { UsageError } from "../errors.ts";
import { type Column, formatSeconds, formatTable, writeJson, writeLine } from "../output.ts";

export function register(program: Command): void {
  const command = program
    .command("cost")
    .description("show what an experiment cost: tokens by class, sandbox hours, money, and what for")
    .argument("<experiment>", "name of the experiment (tadpole list)")
    .option("--by <what>", `${COST_GROUPINGS.join(", ")}`, "phase")
    .action(async (name: string, options: { readonly by: string }, self: Command) => {
      const by = readGrouping(options.by);
      const { showCost, withRecord } = await import("../../control/index.ts");
      const cost = await withRecord((session) => showCost(session, name, by));
      if (wantsJson(self)) writeJson(cost);
      else write(cost);
    });
  examples(command, ["cost quickstart-1", "cost quickstart-1 --by generator --json"]);
}

function readGrouping(by: string): CostGrouping {
  const found = COST_GROUPINGS.find((name) => name === by);
  if (found === undefined)
    throw new UsageError(`--by ${by}: expected ${COST_GROUPINGS.slice(0, -1).join(", ")} or task`);
  return found;
}

const whole = (count: number): string => Math.round(count).toLocaleString("en");

/** Rollouts of earlier versions have no counts: nothing is not 0. */
const tokensOf =
  (name: keyof TokenCounts) =>
  (cost: Cost): string | null => {
    if (cost.requests > 0 || cost.rollouts > cost.uncountedRollouts || cost.lostTokens > 0)
      return whole(cost.tokens[name]);
    return cost.rollouts > 0 ? "not counted" : null;
  };

const money = ({ usd, unpricedTokens, unpricedSeconds }: Cost): string | null =>
  usd === 0 && unpricedTokens + unpricedSeconds > 0 ? null : formatUsd(usd);

const COLUMNS: readonly Column<Cost>[] = [
  { title: "requests", align: "right", value: ({ requests }) => requests },
  { title: "rollouts", align: "right", value: ({ rollouts }) => rollouts },
  { title: "prompt", align: "right", value: tokensOf("prompt") },
  { title: "cached", align: "right", value: tokensOf("cached") },
  { title: "reasoning", align: "right", value: tokensOf("reasoning") },
  { title: "text", align: "right", value: tokensOf("text") },
  { title: "tool calls", align: "right", value: tokensOf("toolCalls") },
  { title: "sandboxes", align: "right", value: ({ sandboxSeconds }) => formatSeconds(sandboxSeconds) },
  { title: "US dollars", align: "right", value: money },
];

function nameOf(by: CostGrouping, of: string | number | null): string {
  if (of === null) return `no ${by}`;
  return by === "iteration" && of === 0 ? "preparation" : String(of);
}

const bounds = ({ usd, authorTokens, sandboxHours }: BudgetSettings): string[] => [
  ...(usd === null ? [] : [`${formatUsd(usd)} US dollars`]),
  ...(authorTokens === null ? [] : [`${whole(authorTokens)} tokens of the author`]),
  ...(sandboxHours === null ? [] : [`${sandboxHours} h of sandboxes`]),
];

const unit = ({ count, usd, tokens, sandboxSeconds }: UnitCost): string =>
  `${formatUsd(roundUsd(usd))} US dollars, ${whole(tokens)} tokens, ${formatSeconds(sandboxSeconds)} of sandboxes (${count})`;

function write(cost: ExperimentCost): void {
  const { by, groups, total, budget, perAdmitted, perUpdate, generators } = cost;
  const row = (name: string, of: Cost) => ({ name, ...of });
  const rows = [...groups.map((group) => row(nameOf(by, group.of), group)), row("total", total)];
  const first: Column<Cost & { readonly name: string }> = { title: by, value: ({ name }) => name };
  writeLine(formatTable(rows, [first, ...COLUMNS]));
  for (const note of notes(cost)) writeLine(note);
  writeLine();
  if (bounds(budget).length > 0) writeLine(`budget: ${bounds(budget).join(", ")}`);
  writeLine(`by admitted task: ${perAdmitted === null ? "–" : unit(perAdmitted)}`);
  writeLine(`by update: ${perUpdate === null ? "–" : unit(perUpdate)}`);
  if (generators.length === 0) return;
  const columns: readonly Column<GeneratorCost>[] = [
    { title: "generator", value: ({ generator }) => generator },
    { title: "candidates", align: "right", value: ({ candidates }) => candidates },
    { title: "valid", align: "right", value: ({ valid }) => valid },
    { title: "admitted", align: "right", value: ({ admitted }) => admitted },
    { title: "by admitted task", value: ({ perAdmitted: one }) => one && unit(one) },
  ];
  writeLine();
  writeLine(formatTable(generators, columns));
}

/** What the table leaves out, or holds without being sure of it. */
function notes({ total, attempts }: ExperimentCost): string[] {
  const found: string[] = [];
  if (total.unpricedTokens > 0 || total.unpricedSeconds > 0)
    found.push(
      `without a price: ${whole(total.unpricedTokens)} tokens, ${formatSeconds(total.unpricedSeconds)} of sandboxes`,
    );
  if (total.openRequests > 0)
    found.push(
      `${total.openRequests} requests whose outcome is not known: up to ${whole(total.openTokens)} tokens, ${formatUsd(total.openUsd)} US dollars, which count as spent`,
    );
  if (total.lostTokens > 0)
    found.push(
      `${whole(total.lostTokens)} tokens of turns that nobody went on from, or has yet: they are in the table`,
    );
  const { failed, superseded } = attempts;
  if (failed + superseded > 0)
    found.push(
      `${failed} attempts failed and ${superseded} were superseded: turns that were cut half way are in no count`,
    );
  if (total.uncountedRollouts > 0)
    found.push(`${total.uncountedRollouts} rollouts of an earlier version were not counted`);
  return found;
}
