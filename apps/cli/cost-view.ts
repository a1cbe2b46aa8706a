/** What an experiment cost, as text for people. */
import type { Cost, CostGrouping, UnitCost } from "../../core/cost.ts";
import { type BudgetSettings, formatUsd, roundUsd, type TokenCounts } from "../../core/spend.ts";
import type { ExperimentCost, GeneratorCost } from "../control/cost.ts";
import { type Column, formatSeconds, formatTable } from "./output.ts";

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
  `${usd === null ? "no price" : `${formatUsd(roundUsd(usd))} US dollars`}, ${whole(tokens)} tokens, ${formatSeconds(sandboxSeconds)} of sandboxes (${count})`;

/** Where counts differ from those of `tadpole pool`. */
const EVERYTHING =
  "all that was begun is counted, with what a pool that was full no longer read: tadpole pool counts what was read";

/** Tables and what they leave out. */
export function costText(cost: ExperimentCost): string {
  const { by, groups, total, budget, perAdmitted, perUpdate, generators } = cost;
  const row = (name: string, of: Cost) => ({ name, ...of });
  const rows = [...groups.map((group) => row(nameOf(by, group.of), group)), row("total", total)];
  const first: Column<Cost & { readonly name: string }> = { title: by, value: ({ name }) => name };
  const bounded = bounds(budget);
  return [
    formatTable(rows, [first, ...COLUMNS]),
    ...notes(cost),
    "",
    ...(bounded.length > 0 ? [`budget: ${bounded.join(", ")}`] : []),
    `by admitted task: ${perAdmitted === null ? "–" : unit(perAdmitted)}`,
    `by update: ${perUpdate === null ? "–" : unit(perUpdate)}`,
    ...(generators.length > 0 ? ["", formatTable(generators, GENERATOR_COLUMNS), EVERYTHING] : []),
  ].join("\n");
}

const GENERATOR_COLUMNS: readonly Column<GeneratorCost>[] = [
  { title: "generator", value: ({ generator }) => generator },
  { title: "candidates", align: "right", value: ({ candidates }) => candidates },
  { title: "valid", align: "right", value: ({ valid }) => valid },
  { title: "admitted", align: "right", value: ({ admitted }) => admitted },
  { title: "by admitted task", value: ({ perAdmitted: one }) => one && unit(one) },
];

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
