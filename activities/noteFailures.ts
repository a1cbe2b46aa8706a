/** noteFailures: of a try that is over, the failed rollouts that its diagnoses explain best, for the author of later iterations. */
import { CAUSES, type Cause, type Diagnosis, diagnose } from "../core/diagnosis.ts";
import type { Scope } from "../core/scope.ts";
import {
  type FailingGroup,
  failingGroups,
  getStatement,
  listRollouts,
  type RolloutRow,
  recordFailures,
} from "../services/store/index.ts";
import type { RecordServices } from "./services.ts";
import { symptomsOf } from "./symptoms.ts";
import { loadTask } from "./tasks.ts";

/** Of one task: more of the same teach an author nothing. */
const PER_TASK = 2;
/** Groups of a climb that are looked into: each means reading all of its trajectories. */
const CLIMBED = 50;

/** Why something fails, not why it passes. */
const OF_FAILURES: ReadonlySet<Cause> = new Set(
  CAUSES.filter((cause) => cause !== "shortcut" && cause !== "leak" && cause !== "too-easy"),
);

export async function noteFailures(
  services: RecordServices,
  { scope }: { readonly scope: Scope },
): Promise<void> {
  const { probed, climbed } = await failingGroups(services.db, scope, CLIMBED);
  const noted = new Map<string, Failure>();
  for (const group of [...probed, ...climbed]) {
    const rows = await listRollouts(services.db, group.key);
    const diagnosis = group.diagnosis ?? (await diagnosed(services, group, rows));
    if (diagnosis === null || !OF_FAILURES.has(diagnosis.cause)) continue;
    for (const row of rows.filter(({ raw_reward }) => raw_reward === 0).slice(0, PER_TASK))
      noted.set(row.key, failureOf(row, diagnosis));
  }
  await recordFailures(services.db, scope, [...noted.values()]);
}

interface Failure {
  readonly rollout_key: string;
  readonly task_id: string;
  readonly cause: string;
  readonly evidence: string;
}

function failureOf({ key, task_id, exit, turns }: RolloutRow, { cause, evidence }: Diagnosis): Failure {
  return {
    rollout_key: key,
    task_id,
    cause,
    evidence: `${evidence}; this one ended by ${exit} after ${turns} turns`,
  };
}

async function diagnosed(
  services: RecordServices,
  { taskId, level, passes }: FailingGroup,
  rows: readonly RolloutRow[],
): Promise<Diagnosis | null> {
  const [task, statement] = await Promise.all([
    loadTask(services, taskId),
    getStatement(services.db, taskId, level),
  ]);
  const decision = passes === 0 ? "all-fail" : "too-hard";
  return diagnose(await symptomsOf(services.artifacts, { decision, task, statement, rows }));
}
