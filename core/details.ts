/** Where a workflow stands, in Markdown, for the Temporal UI: pure functions of what the workflow knows, its own time among it. */
import type { ExperimentSteering } from "./steering.ts";

/** Work of one run: `done` pieces since `since`, `left` still to do. Milliseconds since 1970, of workflow time. */
export interface Pace {
  readonly since: number;
  readonly now: number;
  readonly done: number;
  readonly left: number;
}

/** When the rest is done if it goes on as it went, milliseconds since 1970; null before the first piece and after the last. */
export function expectedEnd({ since, now, done, left }: Pace): number | null {
  if (done <= 0 || left <= 0 || now <= since) return null;
  return now + ((now - since) / done) * left;
}

/** `2026-11-30 08:12 UTC`. */
export function clock(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

function pacing(what: string, pace: Pace): string | null {
  const end = expectedEnd(pace);
  return end === null ? null : `${what} at about **${clock(end)}**, if it goes on as it went`;
}

const BAR = 24;

/** Text bars of how many groups had k passes: `counts[k]`, one line each; empty when there is none. */
export function passBars(counts: readonly number[]): string {
  const most = Math.max(0, ...counts);
  if (most === 0) return "";
  const width = String(counts.length - 1).length;
  return counts
    .map((count, passes) => {
      const length = count === 0 ? 0 : Math.max(1, Math.round((count / most) * BAR));
      return `${String(passes).padStart(width)}/${counts.length - 1} ${"█".repeat(length).padEnd(BAR)} ${count}`;
    })
    .join("\n");
}

/** `counts` with one more group that had `passes` of `size`. */
export function withPasses(counts: readonly number[], passes: number, size: number): number[] {
  const length = Math.max(counts.length, size + 1);
  return Array.from({ length }, (_, k) => (counts[k] ?? 0) + (k === passes ? 1 : 0));
}

function histogram(what: string, counts: readonly number[]): string | null {
  const bars = passBars(counts);
  return bars === "" ? null : `${what}\n\n\`\`\`\n${bars}\n\`\`\``;
}

function paragraphs(...parts: readonly (string | null)[]): string {
  return parts.filter((part) => part !== null).join("\n\n");
}

const failed = (failure: string | null): string | null =>
  failure === null ? null : `last failure: ${failure.replace(/\s+/g, " ").slice(0, 500)}`;

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** `refused: 3 by applies, 2 by stability`; null where nothing was counted. */
function tally(
  what: string,
  counts: Readonly<Record<string, number>>,
  word: (of: string) => string,
): string | null {
  const counted = Object.entries(counts)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([of, count]) => `${count} ${word(of)}`);
  return counted.length === 0 ? null : `${what}: ${counted.join(", ")}`;
}

export interface PoolStanding {
  readonly admitted: number;
  readonly wanted: number;
  readonly candidates: number;
  readonly maxCandidates: number;
  readonly dropped: number;
  readonly refined: number;
  /** `passes[k]` = candidates whose latest probe had k passes. */
  readonly passes: readonly number[];
  /** Candidates that were not tried, by why; in `dropped` only once the pool is full. */
  readonly untried?: Readonly<Record<string, number>>;
  /** Tasks that nobody solves without a hint; absent = none. */
  readonly hinted?: number;
  readonly lastLeftOut: string | null;
  readonly lastFailure: string | null;
  readonly pace: Pace;
}

export function poolDetails(pool: PoolStanding): string {
  const { admitted, wanted, candidates, maxCandidates, dropped, refined, lastLeftOut } = pool;
  return paragraphs(
    `**${admitted} of ${wanted} tasks** from ${candidates} candidates (at most ${maxCandidates}): ${dropped} left out, ${refined} with another statement`,
    pool.hinted ? `apart from them **${pool.hinted} with hints**, uncalibrated` : null,
    pacing("full", pool.pace),
    tally("not tried", pool.untried ?? {}, (reason) => reason),
    histogram("passes of each candidate's latest probe", pool.passes),
    lastLeftOut === null ? null : `last left out: ${lastLeftOut}`,
    failed(pool.lastFailure),
  );
}

export interface CalibrationStanding {
  /** Null until a gate has let it through. */
  readonly task: string | null;
  readonly level: number;
  readonly refinements: number;
  readonly repairs: number;
  /** What was decided so far, one line each. */
  readonly steps: readonly string[];
}

export function calibrationDetails(calibration: CalibrationStanding): string {
  const { task, level, refinements, repairs, steps } = calibration;
  const sent = repairs === 0 ? "" : ` · sent back ${repairs} ×`;
  return paragraphs(
    task === null
      ? `**no task yet**${sent}`
      : `task \`${task}\` at level ${level} · refined ${refinements} ×${sent}`,
    steps.map((step, i) => `${i + 1}. ${step.replace(/\s+/g, " ").slice(0, 500)}`).join("\n"),
  );
}

export interface ClimbStanding {
  readonly update: number;
  readonly updates: number;
  readonly policy: string;
  /** The latest update, as a sentence. */
  readonly lastUpdate: string | null;
  readonly groups: number;
  /** `passes[k]` = groups of this run that had k passes. */
  readonly passes: readonly number[];
  readonly lastFailure: string | null;
  readonly pace: Pace;
  /** Of an asynchronous climb: groups in progress, and those that wait for an update. */
  readonly flying?: { readonly groups: number; readonly ready: number };
}

export function climbDetails(climb: ClimbStanding): string {
  const { update, updates, policy, lastUpdate, groups } = climb;
  return paragraphs(
    `**${update} of ${updates} updates** · policy \`${policy}\` · ${groups} groups sampled`,
    climb.flying === undefined
      ? null
      : `${climb.flying.groups} groups in progress, ${climb.flying.ready} wait for an update`,
    lastUpdate === null ? null : `last update: ${lastUpdate}`,
    pacing("all updates made", climb.pace),
    histogram("passes of each group", climb.passes),
    failed(climb.lastFailure),
  );
}

export interface EvaluationStanding {
  readonly tasks: number;
  readonly of: number;
  /** `passes[k]` = tasks of which k samples passed. */
  readonly passes: readonly number[];
  readonly lastFailure: string | null;
  readonly pace: Pace;
}

export function evaluationDetails(evaluation: EvaluationStanding): string {
  const { tasks, passes } = evaluation;
  const size = passes.length - 1;
  const seen = passes.reduce((sum, count) => sum + count, 0);
  const passed = passes.reduce((sum, count, k) => sum + count * k, 0);
  const rate = seen === 0 || size < 1 ? "" : ` · pass@1 so far ${percent(passed / (seen * size))}`;
  return paragraphs(
    `**${tasks} of ${evaluation.of} tasks**${rate}`,
    pacing("measured", evaluation.pace),
    histogram("passes of each task", passes),
    failed(evaluation.lastFailure),
  );
}

export interface Measured {
  readonly set: string;
  readonly mode: string;
  readonly policy: string;
  readonly passAt1: number;
  readonly low: number;
  readonly high: number;
}

/** Shares from 0 to 1 as percent, with their interval. */
export function passAt1Line({ set, mode, policy, passAt1, low, high }: Measured): string {
  return `pass@1 of \`${policy}\` on ${set} (${mode}): **${percent(passAt1)}** [${percent(low)}, ${percent(high)}]`;
}

export interface TaskSetStanding {
  readonly tasks: number;
  readonly wanted: number;
  readonly candidates: number;
  /** Candidates that each gate refused. */
  readonly refused: Readonly<Record<string, number>>;
  readonly pace: Pace;
}

export function taskSetDetails(set: TaskSetStanding): string {
  return paragraphs(
    `**${set.tasks} of ${set.wanted} tasks** from ${set.candidates} candidates`,
    tally("refused", set.refused, (gate) => `by ${gate}`),
    pacing("complete", set.pace),
  );
}

export interface IterationStanding {
  readonly phase: string;
  readonly policy: string;
  /** What is done, one sentence each. */
  readonly done: readonly string[];
}

export function iterationDetails({ phase, policy, done }: IterationStanding): string {
  return paragraphs(
    `**${phase}** · from policy \`${policy}\``,
    done.length === 0 ? null : done.map((line) => `- ${line}`).join("\n"),
  );
}

/** `measured`: one sentence each; `status` is that of its steering, or how it ended, then perhaps by a `failure`. */
export function experimentDetails(
  state: Omit<ExperimentSteering, "status"> & { readonly status: string },
  iterations: number,
  measured: readonly string[],
  failure: string | null = null,
): string {
  const { status, phase, iteration, policy, hold, amendments } = state;
  const again = state.try === 1 ? "" : `, try ${state.try}`;
  return paragraphs(
    `**${status}** · ${phase}${iteration > 0 ? ` · iteration ${iteration} of ${iterations}${again}` : ""}`,
    policy === null ? null : `policy \`${policy}\``,
    hold === null ? null : `held (${hold.kind}): ${hold.reason}`,
    failed(failure),
    measured.length === 0 ? null : measured.map((line) => `- ${line}`).join("\n"),
    ...amendments.map(
      ({ path, old, value, fromIteration }) =>
        `amended: \`${path}\` ${old} → ${value} from iteration ${fromIteration}`,
    ),
  );
}
