/** What a sandbox host works with, per runtime: made when the first experiment asks for it. */
import { join } from "node:path";
import type { MetricMeter } from "@temporalio/common";
import type { SandboxKit } from "../activities/index.ts";
import type { SandboxRuntimeName } from "../core/experiment.ts";
import { createGrading } from "../services/grading/index.ts";
import { type CommandCache, createCommandCache } from "../services/harness/index.ts";
import { type HostOptions, hostRuntimes, type SandboxRuntime } from "../services/sandbox/index.ts";
import { createSynthesis } from "../services/synthesis/index.ts";
import { environmentAccess } from "./environment-access.ts";
import { measuredSandboxes } from "./measures.ts";

export interface SandboxKits {
  /** All runtimes, those too that no experiment has asked for: an earlier worker may have left something in them. */
  readonly runtimes: readonly SandboxRuntime[];
  of(runtime: SandboxRuntimeName): SandboxKit;
  close(): Promise<void>;
}

export function sandboxKits(options: HostOptions, meter: MetricMeter): SandboxKits {
  const runtimes = hostRuntimes(options).map((runtime) => measuredSandboxes(runtime, meter));
  const kits = new Map<SandboxRuntimeName, SandboxKit>();
  return {
    runtimes,
    of: (name) => {
      const known = kits.get(name);
      if (known !== undefined) return known;
      const kit = sandboxKit(runtimes.find((runtime) => runtime.name === name)!, options.dataFolder);
      kits.set(name, kit);
      return kit;
    },
    close: async () => {
      for (const { grading } of kits.values()) await grading.close();
    },
  };
}

/**
 * An environment prepared in one runtime says nothing of another: its tests have run with other programs. So each has a folder of its own, but
 * the same key for the same files: only what its tests say can differ between them.
 */
const environmentsOf = (runtime: SandboxRuntimeName, dataFolder: string): string =>
  runtime === "process" ? dataFolder : join(dataFolder, runtime);

function sandboxKit(runtime: SandboxRuntime, dataFolder: string): SandboxKit {
  const grading = createGrading({ runtime });
  const commandCaches = new Map<string, CommandCache>();
  return {
    runtime,
    grading,
    synthesis: createSynthesis({ grading, sandboxRuntime: runtime, mode: "warm" }),
    environments: environmentAccess({
      dataFolder: environmentsOf(runtime.name, dataFolder),
      runTests: (request) => grading.runTests(request, "cold"),
      log: console.log,
      forget: async (key) => {
        commandCaches.delete(key);
        await grading.forget(key);
      },
    }),
    commandCache: (key) => {
      const cache = commandCaches.get(key) ?? createCommandCache();
      commandCaches.set(key, cache);
      return cache;
    },
  };
}
