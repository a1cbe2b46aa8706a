/** reapSandboxes: on the queue of one host, removes what its workers left behind and keeps its images within bounds (docs/sandbox-life.md). */
import { type ImageCache, reapSandboxes as reap, type SandboxRuntime } from "../services/sandbox/index.ts";
import { heartbeating, withFailures } from "./context.ts";

export interface ReapReport {
  readonly removed: number;
  readonly left: number;
  /** Bytes of the images that Tadpole brought to the host, and references of those that had to go. */
  readonly imageBytes: number;
  readonly imagesRemoved: readonly string[];
  /** Runtimes that could not be asked, and why. A host without Docker has none to ask. */
  readonly problems: readonly string[];
}

export interface HostActivities {
  reapSandboxes(): Promise<ReapReport>;
}

export interface HostServices {
  readonly runtimes: readonly SandboxRuntime[];
  readonly images: ImageCache;
  /** For sandboxes that an attempt may go on in. */
  readonly graceMs: number;
}

export function createHostActivities({ runtimes, images, graceMs }: HostServices): HostActivities {
  return withFailures({
    reapSandboxes: () =>
      heartbeating(async () => {
        const { removed, left, problems } = await reap(runtimes, { now: Date.now(), graceMs });
        const reasons = problems.map(({ runtime, reason }) => `${runtime}: ${reason}`);
        const pruned = await images.prune().catch((error: Error) => {
          reasons.push(`images: ${error.message}`);
          return { removed: [], bytes: 0 };
        });
        return {
          removed: removed.length,
          left: left.length,
          imageBytes: pruned.bytes,
          imagesRemoved: pruned.removed.map(({ reference }) => reference),
          problems: reasons,
        };
      }),
  });
}
