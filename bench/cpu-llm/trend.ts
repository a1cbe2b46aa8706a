/** Whether a reward rises over updates: the slope of a straight line through each seed's points, one slope for all. Pure. */
import type { RandomStream } from "../../core/random.ts";

export interface Point {
  readonly update: number;
  /** Mean over the update's rollouts. */
  readonly reward: number;
}

export interface Trend {
  /** Reward per update. */
  readonly slope: number;
  /** 95 %, percentiles of `RESAMPLES` resamples of each seed's updates. */
  readonly low: number;
  readonly high: number;
}

const RESAMPLES = 4000;

/** Least squares with a level of its own for each seed; NaN where no seed has two different updates. */
export function commonSlope(seeds: readonly (readonly Point[])[]): number {
  let [products, squares] = [0, 0];
  for (const points of seeds) {
    const update = points.reduce((sum, point) => sum + point.update, 0) / points.length;
    const reward = points.reduce((sum, point) => sum + point.reward, 0) / points.length;
    for (const point of points) {
      products += (point.update - update) * (point.reward - reward);
      squares += (point.update - update) ** 2;
    }
  }
  return squares === 0 ? Number.NaN : products / squares;
}

export function trendOf(seeds: readonly (readonly Point[])[], random: RandomStream): Trend {
  const slopes: number[] = [];
  for (let n = 0; n < RESAMPLES; n++) {
    const slope = commonSlope(seeds.map((points) => points.map(() => random.pick(points))));
    if (!Number.isNaN(slope)) slopes.push(slope);
  }
  slopes.sort((a, b) => a - b);
  const at = (share: number) => slopes[Math.min(slopes.length - 1, Math.floor(share * slopes.length))]!;
  return { slope: commonSlope(seeds), low: at(0.025), high: at(0.975) };
}
