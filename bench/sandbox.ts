/** What sandboxes cost: a command in each runtime, a rollout, memory; each against a reference or a peer of the same run. */
import { join } from "node:path";
import { createDockerRuntime } from "../services/sandbox/index.ts";
import { type BenchContext, type Measure, temporaryFolder } from "./bench.ts";
import { benchEnvironment, environmentSpec } from "./sandbox-environment.ts";
import { commandLatency } from "./sandbox-latency.ts";
import { sandboxMemory } from "./sandbox-memory.ts";
import { commandOverhead } from "./sandbox-process.ts";
import { rolloutCost } from "./sandbox-rollout.ts";
import { benchIdentity, smallSpec } from "./sandbox-spec.ts";

export async function run(context: BenchContext): Promise<readonly Measure[]> {
  const measures = await commandOverhead(context);
  const folder = await temporaryFolder(context);
  const root = join(folder, "sandboxes");
  const runtime = createDockerRuntime({ root, nodePath: process.execPath, say: context.progress });
  const reason = await runtime.unavailable();
  if (reason !== null) {
    context.progress(`the docker runtime is not measured: ${reason}`);
    return measures;
  }
  const sandbox = await runtime.create(smallSpec(folder), benchIdentity("latency"));
  context.defer(() => sandbox.destroy());
  measures.push(...(await commandLatency(context, sandbox)));
  const environment = await benchEnvironment(context, runtime);
  measures.push(...(await rolloutCost(context, runtime, environment)));
  measures.push(...(await sandboxMemory(context, environmentSpec(environment))));
  return measures;
}
