/** Steering of a running experiment: what can be asked of it, what it answers, and which settings may change while it runs. */
import { type ExperimentSettings, settingsAt } from "./experiment.ts";
import type { Phase } from "./search-attributes.ts";

/** Every request has an id of its own; the same id again changes nothing and gives the same answer. */
export interface Request {
  readonly request: string;
}

/** Requests of an experiment that are remembered: more than anyone repeats one after. */
export const REMEMBERED = 200;

export interface PauseRequest extends Request {
  /** Shown wherever the hold is. */
  readonly reason: string;
}

/** Phases that can be cut short. */
export const SKIPPABLE = ["pool", "climb", "selection", "evaluation"] as const satisfies readonly Phase[];

export interface SkipRequest extends Request {
  /** The one that is meant, so that a request that comes late ends no other; absent = whatever is in hand. */
  readonly phase?: (typeof SKIPPABLE)[number];
}

export interface AmendRequest extends Request {
  /** Dotted path of a setting that `AMENDABLE` lists. */
  readonly path: string;
  readonly value: number | boolean;
}

/** `pausing`: held, and work that had begun is still winding up. */
export type SteeringStatus = "running" | "pausing" | "paused" | "stopping" | "ended";

export interface Amendment extends AmendRequest {
  /** Null where there was no bound. */
  readonly old: number | boolean | null;
  /** The first whose input was not pinned yet when it was made; of `atOnce` ones the one that ran. */
  readonly fromIteration: number;
}

/** Why everything waits. `kind` is `user`, a failure type (`core/failures.ts`) or a watchdog's name. */
export interface Hold {
  readonly kind: string;
  readonly reason: string;
}

/** The answer to the query `state`, and of every update. */
export interface ExperimentSteering {
  readonly status: SteeringStatus;
  readonly hold: Hold | null;
  readonly phase: string;
  /** 0 while it is prepared. */
  readonly iteration: number;
  readonly try: number;
  readonly policy: string | null;
  readonly amendments: readonly Amendment[];
  /** Of one that has ended: why, where that was not by being done. */
  readonly error?: string | null;
}

interface Amendable {
  readonly type: "count" | "number" | "boolean";
  readonly min?: number;
  /** The minimum itself is none. */
  readonly above?: true;
  readonly max?: number;
  /** No iteration has it pinned: it holds from the moment it is amended. */
  readonly atOnce?: true;
}

/** Settings that may change while an experiment runs; from the next iteration on, but for those `atOnce`. */
export const AMENDABLE: Readonly<Record<string, Amendable>> = {
  iterations: { type: "count", min: 1, atOnce: true },
  "synthesis.poolTasks": { type: "count", min: 1 },
  "synthesis.maxCandidates": { type: "count", min: 1 },
  "filter.band.low": { type: "number", min: 0, max: 1 },
  "filter.band.high": { type: "number", min: 0, max: 1 },
  "filter.maxRefinements": { type: "count", min: 0 },
  "climb.updates": { type: "count", min: 0 },
  "optimizer.learningRate": { type: "number", min: 0, above: true },
  "evaluation.greedy": { type: "boolean" },
  "concurrency.calibrations": { type: "count", min: 1 },
  "concurrency.groups": { type: "count", min: 1 },
  "limits.infrastructureRetries": { type: "count", min: 0, atOnce: true },
  "budget.usd": { type: "number", min: 0, above: true, atOnce: true },
  "budget.authorTokens": { type: "count", min: 1, atOnce: true },
  "budget.sandboxHours": { type: "number", min: 0, above: true, atOnce: true },
};

/** Null when the value by itself is one, else what was expected: one sentence that names the path. */
export function amendmentProblem(path: string, value: unknown): string | null {
  const rule = Object.hasOwn(AMENDABLE, path) ? AMENDABLE[path] : undefined;
  if (rule === undefined)
    return `${path} is fixed while an experiment runs; amendable are ${Object.keys(AMENDABLE).join(", ")}`;
  if (rule.type === "boolean") return typeof value === "boolean" ? null : `${path}: expected true or false`;
  const { type, min = Number.NEGATIVE_INFINITY, above = false, max = Number.POSITIVE_INFINITY } = rule;
  const kind = type === "count" ? "a whole number" : "a number";
  const fits =
    typeof value === "number" &&
    Number.isFinite(value) &&
    (type !== "count" || Number.isSafeInteger(value)) &&
    (above ? value > min : value >= min) &&
    value <= max;
  const least = above ? `above ${min}` : `of at least ${min}`;
  const range = Number.isFinite(max) ? `from ${min} to ${max}` : least;
  return fits ? null : `${path}: expected ${kind} ${range}`;
}

/** The value at a dotted path, undefined where there is none. */
export function settingAt(settings: object, path: string): unknown {
  let value: unknown = settings;
  for (const part of path.split("."))
    value =
      typeof value === "object" && value !== null && Object.hasOwn(value, part)
        ? (value as Record<string, unknown>)[part]
        : undefined;
  return value;
}

/** A copy of `settings` with the value at a dotted path that exists replaced. */
export function withSetting<T extends object>(settings: T, path: string, value: unknown): T {
  const [first, ...rest] = path.split(".");
  const fields = settings as Record<string, unknown>;
  return {
    ...settings,
    [first!]: rest.length === 0 ? value : withSetting(fields[first!] as object, rest.join("."), value),
  };
}

/** The settings with every amendment made that holds in `iteration`, in their order. */
export function amended<T extends object>(
  settings: T,
  amendments: readonly Amendment[],
  iteration: number,
): T {
  return amendments
    .filter(({ fromIteration }) => fromIteration <= iteration)
    .reduce((current, { path, value }) => withSetting(current, path, value), settings);
}

/** The settings that an iteration was pinned with, and those that none is pinned with as they are in force in it. */
export function amendedAtOnce<T extends object>(
  pinned: T,
  amendments: readonly Amendment[],
  iteration: number,
): T {
  return amended(
    pinned,
    amendments.filter(({ path }) => AMENDABLE[path]?.atOnce === true),
    iteration,
  );
}

/** What an iteration is pinned with: an amendment wins over an override of the file, whichever iteration that is from. */
export function pinnedSettings(
  settings: ExperimentSettings,
  amendments: readonly Amendment[],
  iteration: number,
): ExperimentSettings {
  return amended(settingsAt(settings, iteration), amendments, iteration);
}
