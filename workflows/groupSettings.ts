/** What every group takes from its experiment's settings, whatever it is sampled for. */
import type { GroupInput } from "../activities/types.ts";
import type { ExperimentSettings } from "../core/experiment.ts";

type Taken = "seed" | "limits" | "sampling" | "sandbox" | "grading" | "reward" | "policyServer";

export function groupSettings({
  seed,
  rollout: { limits, sampling },
  sandbox,
  grading,
  reward,
  policy,
}: ExperimentSettings): Pick<GroupInput, Taken> {
  return { seed, limits, sampling, sandbox, grading, reward, policyServer: policy };
}
