/** Seconds of sandboxes on record: of whatever is done in one, its making and removal included, whether it came to something or not. */
import { Context } from "@temporalio/activity";
import { experimentOf } from "../core/ids.ts";
import type { Scope } from "../core/scope.ts";
import { addSandboxSeconds, type SandboxUse } from "../services/store/index.ts";
import type { RecordServices } from "./services.ts";
import type { CandidateRef, GroupInput } from "./types.ts";

/** What is done for one experiment at a time may have no scope of its own: then it is of the preparation. */
export interface Use extends Omit<SandboxUse, "scope"> {
  readonly scope: Scope | undefined;
}

export async function timed<T>(
  { db }: Pick<RecordServices, "db">,
  use: Use,
  work: () => Promise<T>,
): Promise<T> {
  const start = performance.now();
  try {
    return await work();
  } finally {
    const scope = use.scope ?? preparation();
    const seconds = (performance.now() - start) / 1000;
    // A count that cannot be written is no reason to lose what was counted.
    if (scope !== null) await addSandboxSeconds(db, { ...use, scope }, seconds).catch(() => undefined);
  }
}

function preparation(): Scope | null {
  const experiment = experimentOf(Context.current().info.workflowExecution?.workflowId ?? "");
  return experiment === null ? null : { experiment, iteration: 0, try: 1 };
}

export function ofGroup(
  work: "rollout" | "verdict",
  { scope, phase, key, taskId }: Pick<GroupInput, "scope" | "phase" | "key" | "taskId">,
): Use {
  return { work, scope, phase, item: key, taskId, generator: null };
}

/** `recordScope` tells the candidates of fixed sets apart, whose tasks are for evaluations. */
export function ofCandidate(
  work: "author" | "validation",
  { index, generator }: Pick<CandidateRef, "index" | "generator">,
  { scope, recordScope }: { readonly scope?: Scope | undefined; readonly recordScope?: string },
): Use {
  const phase = scope === undefined ? "evaluate" : "synthesise";
  const item = scope === undefined ? `${recordScope ?? "set"}/${index}` : String(index);
  return { work, scope, phase, item, taskId: null, generator };
}
