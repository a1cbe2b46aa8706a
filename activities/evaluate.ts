/** evaluate: pass@1 of one policy on one set, with an interval over tasks, from the groups on record. */
import { random } from "../core/random.ts";
import { scopeKey } from "../core/scope.ts";
import { meanPassRateInterval } from "../core/statistics.ts";
import { findGroup, recordEvaluation } from "../services/store/index.ts";
import type { RecordServices } from "./services.ts";
import type { EvaluateInput, EvaluateOutput } from "./types.ts";

export async function evaluate(services: RecordServices, input: EvaluateInput): Promise<EvaluateOutput> {
  const results: { taskId: string; passes: number; runs: number }[] = [];
  for (const key of input.groups) {
    const group = await findGroup(services.db, key);
    if (group === undefined) throw new Error(`group ${key} is not on record`);
    results.push({ taskId: group.task_id, passes: group.passes, runs: group.size });
  }
  const interval = meanPassRateInterval(results, random(input.seed, "interval", input.set));
  const samples = results[0]?.runs ?? 0;
  await recordEvaluation(services.db, {
    key: `${scopeKey(input.scope)}/${input.set}/${input.mode}/${input.policy}`,
    experiment: input.scope.experiment,
    iteration: input.scope.iteration,
    policy: input.policy,
    set_name: input.set,
    set_hash: input.setHash,
    mode: input.mode,
    tasks: results.length,
    samples,
    pass_at_1: interval.mean,
    low: interval.low,
    high: interval.high,
    results,
  });
  return { tasks: results.length, samples, passAt1: interval.mean, low: interval.low, high: interval.high };
}
