/** What the experiment cost, per iteration. */
import { type Cost, type CostGroup, groupCosts, sumCosts } from "../../core/cost.ts";
import { formatUsd, SPEND_PHASES, totalOf } from "../../core/spend.ts";
import type { ReportData } from "../../services/store/index.ts";
import { figure, table, toneOf } from "./figure.ts";
import { html, type Markup } from "./html.ts";
import { stackedBars } from "./plot.ts";
import { compact, duration } from "./scale.ts";

const PHASE_NAMES = {
  synthesise: "making tasks",
  refine: "refining them",
  probe: "probing them",
  climb: "climbing",
  evaluate: "evaluating",
} as const;

const nameOf = ({ of }: CostGroup): string => (of === 0 ? "preparation" : `iteration ${of}`);

const tokensOf = (cost: Cost): number => totalOf(cost.tokens) + cost.openTokens;

const money = ({ usd, unpricedTokens, unpricedSeconds }: Cost): string | null =>
  usd === 0 && unpricedTokens + unpricedSeconds > 0 ? null : `$${formatUsd(usd)}`;

/** What bars are drawn of: the first of these that there is any of. */
const MEASURES = [
  { name: "US dollars", of: ({ usd }: Cost) => usd, show: (usd: number) => `$${formatUsd(usd)}` },
  { name: "Tokens", of: tokensOf, show: (tokens: number) => `${compact(tokens)} tokens` },
  { name: "Time of sandboxes", of: ({ sandboxSeconds }: Cost) => sandboxSeconds, show: duration },
] as const;

/** Null where nothing was counted. */
export function costSection({ cost: { entries } }: ReportData): Markup | null {
  const total = sumCosts(entries);
  const measure = MEASURES.find(({ of }) => of(total) > 0);
  if (measure === undefined) return null;
  const iterations = groupCosts(entries, "iteration").sort((a, b) => Number(a.of) - Number(b.of));
  const bars = figure({
    title: `${measure.name} per iteration`,
    legend: SPEND_PHASES.map((phase, index) => ({ text: PHASE_NAMES[phase], tone: toneOf(index) })),
    plot: stackedBars(
      `${measure.name} per iteration, by phase`,
      iterations.map((group) => ({
        label: nameOf(group),
        text: measure.show(measure.of(group)),
        parts: SPEND_PHASES.map((phase, index) => {
          const own = entries.filter((entry) => entry.iteration === group.of && entry.phase === phase);
          const value = measure.of(sumCosts(own));
          return { name: `${PHASE_NAMES[phase]}, ${measure.show(value)}`, tone: toneOf(index), value };
        }),
      })),
      true,
    ),
  });
  const head = ["", "Rollouts", "Prompt", "Cached", "Reasoning", "Text", "Tool calls", "Sandboxes", "Money"];
  const row = (name: string, cost: Cost) => {
    const { prompt, cached, reasoning, text, toolCalls } = cost.tokens;
    const counts = [prompt, cached, reasoning, text, toolCalls].map((count) => count.toLocaleString("en"));
    return [name, cost.rollouts.toLocaleString("en"), ...counts, duration(cost.sandboxSeconds), money(cost)];
  };
  return html`${bars}${table({
    head,
    rows: [...iterations.map((group) => row(nameOf(group), group)), row("All", total)],
  })}${notes(total)}`;
}

function notes(total: Cost): Markup | null {
  const said = [
    total.unpricedTokens + total.unpricedSeconds > 0 &&
      `Without a price: ${total.unpricedTokens.toLocaleString("en")} tokens, ${duration(total.unpricedSeconds)} of sandboxes.`,
    total.openRequests > 0 &&
      `${total.openRequests} requests have no known outcome and count with all that they may have cost: ${total.openTokens.toLocaleString("en")} tokens, $${formatUsd(total.openUsd)}.`,
    total.uncountedRollouts > 0 &&
      `Tokens of ${total.uncountedRollouts.toLocaleString("en")} rollouts of an earlier version were not counted.`,
  ].filter((note) => note !== false);
  return said.length > 0 ? html`<p class="notice">${said.join(" ")}</p>` : null;
}
