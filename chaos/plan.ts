/** What a disturbed run has to bear, decided by the seed alone: at which points of its progress which process is killed. */
import { random } from "../core/random.ts";
import type { ProcessName } from "../infra/stack/index.ts";

/** The processes of the stack that are killed; `gpu` runs the trainer. */
export const TARGETS = ["temporal", "postgres", "policy", "orchestrate", "sandbox", "gpu"] as const;
export type Target = (typeof TARGETS)[number];

/** The last kills have to fall before the run ends, which a killed process that is still starting would put off. */
export const LAST_FRACTION = 0.9;

/** How far a run has come: pieces of work on record, and the seconds since the last of them. */
export interface Moment {
  readonly pieces: number;
  readonly seconds: number;
}

/** The pieces on record of the undisturbed run, each time it was looked at. */
export interface Sample {
  /** Seconds since the experiment was started. */
  readonly at: number;
  readonly pieces: number;
}

export interface PlannedKill {
  /** Of the undisturbed run's wall time, in [0, LAST_FRACTION). */
  readonly fraction: number;
  readonly process: ProcessName;
  readonly moment: Moment;
}

export interface Outage {
  readonly process: "postgres" | "temporal";
  readonly seconds: number;
}

/** Kills in the order of their fractions, uniform over the first nine tenths of the undisturbed run; of any two processes one gets at most one kill more. */
export function planKills(
  seed: number,
  kills: number,
  profile: readonly Sample[],
  targets: readonly Target[] = TARGETS,
): PlannedKill[] {
  const times = random(seed, "chaos", "times");
  const fractions = Array.from({ length: kills }, () => times.next() * LAST_FRACTION).sort((a, b) => a - b);
  return fractions.map((fraction, index) => {
    const round = Math.floor(index / targets.length);
    const process = random(seed, "chaos", "processes", round).shuffle(targets)[index % targets.length]!;
    return { fraction, process, moment: momentOf(profile, fraction) };
  });
}

/** Where the undisturbed run was at a fraction of its wall time. */
export function momentOf(profile: readonly Sample[], fraction: number): Moment {
  const end = profile.at(-1)?.at ?? 0;
  const at = fraction * end;
  let since = 0;
  let pieces = 0;
  for (const sample of profile) {
    if (sample.at > at) break;
    if (sample.pieces > pieces) {
      pieces = sample.pieces;
      since = sample.at;
    }
  }
  return { pieces, seconds: at - since };
}

/** Whether a run that has come so far is at the moment or past it. */
export function isReached(moment: Moment, now: Moment): boolean {
  return now.pieces > moment.pieces || (now.pieces === moment.pieces && now.seconds >= moment.seconds);
}

/** `sandbox,orchestrate`, in the order of `TARGETS`, each once. Throws a RangeError that names what was expected. */
export function parseTargets(text: string): Target[] {
  const names = text.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !TARGETS.includes(name as Target));
  if (unknown !== undefined)
    throw new RangeError(
      `--target ${JSON.stringify(text)}: expected names out of ${TARGETS.join(", ")}, found ${JSON.stringify(unknown)}`,
    );
  return TARGETS.filter((name) => names.includes(name));
}

/** `postgres:60`. Throws a RangeError that names what was expected. */
export function parseOutage(text: string): Outage {
  const [, process, seconds] = /^(postgres|temporal):(\d{1,4})$/.exec(text) ?? [];
  if (process === undefined || Number(seconds) === 0)
    throw new RangeError(
      `--outage ${JSON.stringify(text)}: expected postgres:SECONDS or temporal:SECONDS, 1 to 9999 whole seconds`,
    );
  return { process: process as Outage["process"], seconds: Number(seconds) };
}
