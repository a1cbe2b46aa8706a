/** The climb, update by update: reward, turns, groups without variance, entropy. */
import { meanLag } from "../../core/lag.ts";
import type { BatchPace } from "../../core/pace-record.ts";
import type { UpdatePoint } from "../../services/store/index.ts";
import { figure } from "./figure.ts";
import type { Markup } from "./html.ts";
import { axis, linePlot, type Point } from "./plot.ts";
import { compact, integerTicks, percent } from "./scale.ts";

interface Quantity {
  readonly title: string;
  readonly note: string;
  readonly label: string;
  readonly value: (point: UpdatePoint) => number | null;
  readonly format: (value: number) => string;
  /** Values the axis covers in any case. */
  readonly least: readonly number[];
}

const QUANTITIES: readonly Quantity[] = [
  {
    title: "Mean reward",
    note: "Shaped reward of all rollouts offered to the update.",
    label: "reward",
    value: (point) => point.meanReward,
    format: compact,
    least: [0, 1],
  },
  {
    title: "Turns",
    note: "Mean turns of a rollout.",
    label: "turns",
    value: (point) => point.meanTurns,
    format: compact,
    least: [0],
  },
  {
    title: "Groups without variance",
    note: "Share of groups whose raw rewards were all equal: they teach nothing and are dropped.",
    label: "share of groups",
    value: (point) => point.zeroVariance,
    format: percent,
    least: [0, 1],
  },
  {
    title: "Entropy",
    note: "Of the policy at the sampled tokens, as the trainer reports it.",
    label: "nats",
    value: (point) => point.entropy,
    format: compact,
    least: [0],
  },
  {
    title: "Lag",
    note: "Mean age of a trained token, in versions of the policy.",
    label: "versions",
    value: (point) => (point.pace === null ? null : meanLag(point.pace.lags)),
    format: compact,
    least: [0, 1],
  },
  {
    title: "Trainer idle",
    note: "Share of the time since the climb's first update began in which none was made.",
    label: "share of the time",
    value: (point) => point.pace?.idleShare ?? null,
    format: percent,
    least: [0, 1],
  },
];

/** Updates of all iterations on one axis: an iteration's update u stands where the ones before it end, plus u. */
function placed(updates: readonly UpdatePoint[]): { readonly x: number; readonly point: UpdatePoint }[] {
  const iterations = [...new Set(updates.map(({ iteration }) => iteration))];
  let before = 0;
  return iterations.flatMap((iteration) => {
    const own = updates.filter((point) => point.iteration === iteration);
    const offset = before;
    before += Math.max(...own.map(({ update }) => update));
    return own.map((point) => ({ x: offset + point.update, point }));
  });
}

function quantityFigure(quantity: Quantity, updates: ReturnType<typeof placed>): Markup | null {
  const iterations = [...new Set(updates.map(({ point }) => point.iteration))];
  const runs = iterations.map((iteration) =>
    updates.flatMap(({ x, point }): Point[] => {
      const y = quantity.value(point);
      if (point.iteration !== iteration || y === null) return [];
      return [
        {
          x,
          y,
          label: `iteration ${iteration}, update ${point.update}: ${quantity.format(y)} ${quantity.label}`,
        },
      ];
    }),
  );
  const values = runs.flat().map(({ y }) => y);
  if (values.length === 0) return null;
  const first = updates[0]!.x;
  const last = updates.at(-1)!.x;
  const covered = [...values, ...quantity.least];
  return figure({
    title: quantity.title,
    note: quantity.note,
    plot: linePlot({
      description: `${quantity.title} over ${updates.length} updates, from ${quantity.format(values[0]!)} to ${quantity.format(values.at(-1)!)}`,
      x: {
        label: "update",
        ticks: integerTicks(first, last, 12).map((value) => ({ at: value, text: String(value) })),
      },
      y: axis(quantity.label, Math.min(...covered), Math.max(...covered), quantity.format),
      domain: [first - 0.5, last + 0.5],
      lines: [{ tone: 1, runs: runs.filter((run) => run.length > 0) }],
      marks:
        iterations.length < 2
          ? []
          : iterations.map((iteration) => ({
              at: updates.find(({ point }) => point.iteration === iteration)!.x - 0.5,
              text: `iteration ${iteration}`,
            })),
    }),
  });
}

export function climbFigures(updates: readonly UpdatePoint[]): readonly Markup[] {
  const points = placed(updates);
  return QUANTITIES.flatMap((quantity) => quantityFigure(quantity, points) ?? []);
}

const tally = (counts: Readonly<Record<string, number>>): string | null =>
  Object.entries(counts)
    .map(([reason, count]) => `${count} ${reason}`)
    .join(", ") || null;

function paceCells(pace: BatchPace | null): (string | null)[] {
  if (pace === null) return [null, null, null, null];
  const tokens = pace.lags.reduce((sum, count) => sum + count, 0);
  return [
    pace.lags.map((count, lag) => `${lag}: ${percent(tokens === 0 ? 0 : count / tokens)}`).join(", "),
    pace.idleShare === null ? null : percent(pace.idleShare, 1),
    tally(pace.left.refreshed),
    tally(pace.left.dropped),
  ];
}

/** Every update in numbers. */
export function updateRows(updates: readonly UpdatePoint[]) {
  const number = (value: number | null) => (value === null ? null : compact(value));
  const paced = updates.some(({ pace }) => pace !== null);
  return {
    head: [
      "Update",
      "Reward",
      "Passed",
      "Turns",
      "Groups kept",
      "dropped",
      "Loss",
      "Entropy",
      "Gradient norm",
      "Effective samples",
      "Masked tokens",
      ...(paced ? ["Tokens by lag", "Trainer idle", "Sampled anew", "Left out"] : []),
    ],
    rows: updates.map((point) => [
      `${point.iteration}.${point.update}`,
      number(point.meanReward),
      point.passRate === null ? null : percent(point.passRate),
      number(point.meanTurns),
      point.kept,
      point.dropped,
      number(point.loss),
      number(point.entropy),
      number(point.gradientNorm),
      number(point.effectiveSampleSize),
      point.maskRate === null ? null : percent(point.maskRate, 1),
      ...(paced ? paceCells(point.pace) : []),
    ]),
  };
}
