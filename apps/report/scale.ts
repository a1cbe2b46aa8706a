/** Scales, ticks and numbers of plots. Pure. */

/** Maps [from, to] linearly onto [low, high]; a domain without width maps to the middle. */
export function linear(from: number, to: number, low: number, high: number): (value: number) => number {
  if (from === to) return () => (low + high) / 2;
  return (value) => low + ((value - from) / (to - from)) * (high - low);
}

/** The round step (1, 2 or 5 times a power of ten) that comes nearest, by ratio, to cutting `span` > 0 into `count` parts. */
export function niceStep(span: number, count: number): number {
  const raw = span / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const ratio = raw / power;
  return power * (ratio < Math.SQRT2 ? 1 : ratio < Math.sqrt(10) ? 2 : ratio < Math.sqrt(50) ? 5 : 10);
}

/** Round values that cover [min, max], ends included, about `count` apart. Finite bounds, min <= max. */
export function ticks(min: number, max: number, count = 5): number[] {
  // What differs by rounding alone is one value; its ticks would all read the same.
  const same = max - min <= Math.max(1e-12, 1e-9 * Math.max(Math.abs(min), Math.abs(max)));
  const [low, high] = same ? around(min) : [min, max];
  const step = niceStep(high - low, count);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  // Multiplying by the step keeps 0.1 + 0.2 out of the labels; rounding removes what is left of it.
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

function around(value: number): [number, number] {
  const half = Math.abs(value) < 1e-12 ? 0.5 : Math.abs(value) / 2;
  return [value - half, value + half];
}

/** At most `count` of the integers from `first` to `last`, evenly spaced, the first one included. */
export function integerTicks(first: number, last: number, count: number): number[] {
  const step = Math.max(1, Math.ceil((last - first + 1) / count));
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, i) => first + i * step);
}

export function percent(rate: number, digits = 0): string {
  return `${(rate * 100).toFixed(digits)} %`;
}

/** At most three significant digits, without an exponent where it can be read without one. */
export function compact(value: number): string {
  if (value === 0 || (Math.abs(value) >= 0.001 && Math.abs(value) < 1e6))
    return String(Number(value.toPrecision(3)));
  return value.toExponential(1);
}

/** 4 s, 3 min 20 s, 2 h 5 min. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
