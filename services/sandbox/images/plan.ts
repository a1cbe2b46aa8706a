/** Which images of the cache go: the least recently used first, by bytes. Pure. */

export interface CachedImage {
  readonly id: string;
  /** That no other image shares: what its removal frees at least. */
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly lastUsed: number;
  /** By a container, running or not. */
  readonly inUse: boolean;
  /** Brought here by Tadpole, and not pinned: only such images count and go. */
  readonly ours: boolean;
}

export interface CacheLimits {
  /** Above this it is cleared down to `lowBytes`, so that not every further image costs another. */
  readonly highBytes: number;
  readonly lowBytes: number;
  /** What the disk lacks to its watermark, whatever the cache's own size. */
  readonly lackingBytes: number;
}

/** Ids to remove, in order. As few as suffice; fewer bytes than wanted only where nothing more may go. */
export function planEviction(images: readonly CachedImage[], limits: CacheLimits): string[] {
  const ours = images.filter((image) => image.ours);
  const total = ours.reduce((sum, { bytes }) => sum + bytes, 0);
  const excess = total > limits.highBytes ? total - limits.lowBytes : 0;
  let wanted = Math.max(excess, limits.lackingBytes);
  const plan: string[] = [];
  for (const { id, bytes } of ours.filter(({ inUse }) => !inUse).sort(byLastUse)) {
    if (wanted <= 0) break;
    plan.push(id);
    wanted -= bytes;
  }
  return plan;
}

const byLastUse = (a: CachedImage, b: CachedImage) => a.lastUsed - b.lastUsed || (a.id < b.id ? -1 : 1);
