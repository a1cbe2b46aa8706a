/** Durations as people write them: `90s`, `15m`, `6h`, `7d`, `1h30m`. */

const UNITS_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds, a whole number of seconds; null when the text is no duration. Larger units stand first, each at most once. */
export function parseDuration(text: string): number | null {
  const match = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(text);
  if (match === null || text === "") return null;
  const [, days = 0, hours = 0, minutes = 0, seconds = 0] = match;
  const total =
    Number(days) * UNITS_MS.d! +
    Number(hours) * UNITS_MS.h! +
    Number(minutes) * UNITS_MS.m! +
    Number(seconds) * UNITS_MS.s!;
  return Number.isSafeInteger(total) ? total : null;
}

/** The shortest text that `parseDuration` reads as that many milliseconds, whole seconds. */
export function formatDuration(milliseconds: number): string {
  let rest = milliseconds;
  let text = "";
  for (const unit of ["d", "h", "m", "s"]) {
    const count = Math.floor(rest / UNITS_MS[unit]!);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * UNITS_MS[unit]!;
  }
  return text === "" ? "0s" : text;
}
