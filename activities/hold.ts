/**
 * Activities under the hold of their experiment: none begins while it stands, those that can stop do, and a failure that holds sets it. None begins
 * either when the disk is below its watermark or the budget is spent, which hold too. What was held is tried again until a resume (core/failures.ts).
 */
import { ApplicationFailure, Context } from "@temporalio/activity";
import { failureRule } from "../core/failures.ts";
import { experimentOf } from "../core/ids.ts";
import type { Hold } from "../core/steering.ts";
import { holdExperiment, readHold, requireBudget, requireDisk } from "../services/store/index.ts";
import { heldFailure, stoppableBy, toFailure } from "./context.ts";
import { afterActivityFailure } from "./retries.ts";
import type { RecordServices } from "./services.ts";

const POLL_MS = 2000;

/** Training is not resumable: it ends what it began, within minutes, rather than begin again. */
const UNINTERRUPTED = new Set(["update", "startPolicy"]);

/** What is paid for is made use of: these begin however little of the budget is left. */
const DESPITE_BUDGET = new Set(["assemble", "prepareEnvironment", "startPolicy", "update", "verify"]);

/** A slot has its own attempts, and its budget among them. */
const KEEPS_BOOKS = new Set(["rollout"]);

type Held = Pick<RecordServices, "db" | "disk">;

/** Wraps every activity of a table; the ones wrapped throw failures that Temporal understands. */
export function withHold<T extends Record<string, (...args: never[]) => Promise<unknown>>>(
  services: Held,
  activities: T,
): T {
  return Object.fromEntries(
    Object.entries(activities).map(([name, activity]) => [
      name,
      (...args: never[]) => underHold(services, name, () => activity(...args)),
    ]),
  ) as T;
}

async function underHold<T>({ db, disk }: Held, name: string, work: () => Promise<T>): Promise<T> {
  const { info, cancellationSignal } = Context.current();
  const experiment = experimentOf(info.workflowExecution?.workflowId ?? "");
  const stop = new AbortController();
  let standing: Hold | null = null;
  const look = async (of: string) => {
    standing = (await readHold(db, of))?.hold ?? null;
    if (standing !== null) stop.abort();
  };
  let poll: NodeJS.Timeout | null = null;
  try {
    if (experiment !== null) {
      await look(experiment);
      if (standing !== null) throw held(standing);
      // A record that cannot be read holds nothing; the activity's own writes will say so.
      if (!UNINTERRUPTED.has(name))
        poll = setInterval(() => void look(experiment).catch(() => undefined), POLL_MS);
    }
    if (disk !== null) await requireDisk(disk);
    if (experiment !== null && !DESPITE_BUDGET.has(name)) await requireBudget(db, experiment);
    return await stoppableBy(stop.signal, work);
  } catch (error) {
    const failure = toFailure(error);
    if (experiment === null || cancellationSignal.aborted) throw failure;
    if (stop.signal.aborted && standing !== null) throw held(standing);
    if (failure instanceof ApplicationFailure && failureRule(failure.type ?? "").holds) {
      const hold = await holdExperiment(db, experiment, { kind: failure.type!, reason: failure.message });
      // Nobody could resume what is not on record: it is tried again as it is.
      throw hold === null ? failure : held(hold, failure);
    }
    if (failure instanceof ApplicationFailure && !KEEPS_BOOKS.has(name)) {
      const { workflowExecution, activityId } = info;
      const key = `${workflowExecution?.workflowId}/${name}/${activityId}`;
      throw await afterActivityFailure(db, { name, key, experiment }, failure).catch(toFailure);
    }
    throw failure;
  } finally {
    if (poll !== null) clearInterval(poll);
  }
}

function held({ kind, reason }: Hold, cause?: Error): ApplicationFailure {
  return heldFailure(`held (${kind}): ${reason}`, cause);
}
