/** prepareEnvironment: a real package, fetched, pinned and proven by its own tests; recorded. */
import { recordEnvironment } from "../services/store/index.ts";
import { heartbeating } from "./context.ts";
import type { SandboxServices } from "./services.ts";
import type { EnvironmentRef } from "./types.ts";

export async function prepareEnvironment(
  services: SandboxServices,
  input: { readonly name: string; readonly repeats: number },
): Promise<EnvironmentRef> {
  return heartbeating(async ({ signal }) => {
    const prepared = await services.environments.prepare(input.name, input.repeats, signal);
    const version = prepared.key.slice(input.name.length + 1, prepared.key.lastIndexOf("-"));
    await recordEnvironment(services.db, {
      key: prepared.key,
      name: input.name,
      version,
      status: "ready",
      summary: {
        tests: Object.keys(prepared.baseline).length,
        unstable: prepared.unstable,
        baselineRuns: prepared.baselineRuns,
        cpuSeconds: prepared.cpuSeconds,
      },
    });
    return { name: input.name, key: prepared.key };
  });
}
