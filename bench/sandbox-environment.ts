/** A real package as the benches of sandboxes use it. */
import { dataFolder, prepareDataFolder } from "../infra/stack/index.ts";
import { type PreparedEnvironment, prepareEnvironment } from "../services/environments/index.ts";
import { createGrading, limitsOf } from "../services/grading/index.ts";
import type { SandboxRuntime, SandboxSpec } from "../services/sandbox/index.ts";
import type { BenchContext } from "./bench.ts";

const NAME = "minimist";

/** Prepared in the data folder where it is not yet. */
export async function benchEnvironment(
  context: BenchContext,
  runtime: SandboxRuntime,
): Promise<PreparedEnvironment> {
  const grading = createGrading({ runtime });
  return prepareEnvironment({
    name: NAME,
    dataFolder: prepareDataFolder(dataFolder()),
    runTests: (request) => grading.runTests(request, "cold"),
    log: context.progress,
  });
}

/** The untouched tree. */
export function environmentSpec(environment: PreparedEnvironment): SandboxSpec {
  const { root, mounts, env } = environment;
  return { root, overlay: [], mounts, env, limits: limitsOf(environment).limits };
}
