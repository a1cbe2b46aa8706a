/** What a failed verdict may be blamed on beside the change: a broken environment, and a task that nobody can solve any more. */
import { ApplicationFailure } from "@temporalio/activity";
import type { Task, Verdict } from "../core/task.ts";
import type { SandboxServices } from "./services.ts";

export const lost = (message: string): ApplicationFailure =>
  ApplicationFailure.create({ message, type: "Infrastructure" });

/** Whether more failed than the task is about: the change may have broken it, or the environment is broken, which must cost no reward. */
export function blamesEnvironment({ passToPass, verifier }: Task, { outcome, statuses }: Verdict): boolean {
  // What an imported task's verifier runs is no part of its environment's baseline: `provable` asks the task itself.
  if (outcome !== "failed" || verifier !== undefined) return false;
  return passToPass.length === 0 || passToPass.some((test) => statuses[test] !== "passed");
}

/**
 * For a group that nobody solved: the reference solution still passes, so that their failing is their own. Where the task has none, its tests
 * must at least report. Throws what `EnvironmentAccess.check` does, or a failure that is tried again.
 */
export async function provable(
  services: SandboxServices,
  task: Task,
  mode: "cold" | "warm",
  signal: AbortSignal,
): Promise<void> {
  const environment = await services.environments.byKey(task.environment);
  const request = { environment, task, change: task.gold, mode, reuse: false, signal };
  const { outcome, rule, offending } = await services.grading.grade(request);
  const solved =
    task.gold.length > 0 ? outcome === "passed" : outcome === "failed" && rule !== "no-tests-parsed";
  if (solved) return;
  const found = `${rule}${offending.length > 0 ? `: ${offending.slice(0, 3).join("; ")}` : ""}`;
  if (outcome === "infrastructure") throw lost(`grading the reference solution of ${task.id}: ${found}`);
  await services.environments.check(task.environment);
  throw lost(`${task.id}: nobody solved it, and its own reference solution fails by ${found}`);
}
