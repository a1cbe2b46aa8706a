/** reapSandboxes: what workers of one host left behind is removed, on the queue of that host (docs/sandbox-life.md). */
import { reapSandboxes as reap, type SandboxRuntime } from "../services/sandbox/index.ts";
import { heartbeating, withFailures } from "./context.ts";

export interface ReapReport {
  readonly removed: number;
  readonly left: number;
  /** Runtimes that could not be asked, and why. A host without Docker has none to ask. */
  readonly problems: readonly string[];
}

export interface HostActivities {
  reapSandboxes(): Promise<ReapReport>;
}

export interface HostServices {
  readonly runtimes: readonly SandboxRuntime[];
  /** For sandboxes that an attempt may go on in. */
  readonly graceMs: number;
}

export function createHostActivities({ runtimes, graceMs }: HostServices): HostActivities {
  return withFailures({
    reapSandboxes: () =>
      heartbeating(async () => {
        const { removed, left, problems } = await reap(runtimes, { now: Date.now(), graceMs });
        return {
          removed: removed.length,
          left: left.length,
          problems: problems.map(({ runtime, reason }) => `${runtime}: ${reason}`),
        };
      }),
  });
}
