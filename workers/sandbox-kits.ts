/** What a sandbox host works with, per runtime: made when the first experiment asks for it. */
import type { MetricMeter } from "@temporalio/common";
import type { SandboxKit } from "../activities/index.ts";
import type { SandboxRuntimeName } from "../core/experiment.ts";
import { loadEntries, runtimeFolder } from "../services/environments/index.ts";
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

function sandboxKit(runtime: SandboxRuntime, dataFolder: string): SandboxKit {
  const grading = createGrading({ runtime });
  const commandCaches = new Map<string, CommandCache>();
  return {
    runtime,
    grading,
    synthesis: createSynthesis({ grading, sandboxRuntime: runtime, mode: "warm" }),
    environments: environmentAccess({
      dataFolder: runtimeFolder(dataFolder, runtime.name),
      entries: () => loadEntries(dataFolder),
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
