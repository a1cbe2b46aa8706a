/** Reads Harbor's reward files: `reward.json` (`{"reward": x}`) or `reward.txt` (a number). Pure. */
import { Results } from "./results.ts";
import type { ReportInput } from "./types.ts";

/** One test named `reward`, passed exactly when the reward is 1. A reward that is no finite number is no report. */
export function parseReward({ text, scope }: ReportInput) {
  const results = new Results(scope);
  const reward = rewardOf(text.trim());
  if (reward === undefined) return results.report(false);
  results.add("reward", reward === 1 ? "passed" : "failed");
  return results.report(true);
}

function rewardOf(text: string): number | undefined {
  const value = text.startsWith("{")
    ? rewardField(text)
    : /^[-+.\deE]+$/.test(text)
      ? Number(text)
      : undefined;
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function rewardField(text: string): unknown {
  try {
    return (JSON.parse(text) as { reward?: unknown }).reward;
  } catch {
    return undefined;
  }
}
