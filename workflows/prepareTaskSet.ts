/** A fixed set of validated tasks, the same for every experiment that asks for it: held-out sets, validation sets. */
import { CancellationScope, continueAsNew, isCancellation, setCurrentDetails } from "@temporalio/workflow";
import type { CandidateRef, TaskSetRef, TaskSetSpec, ValidateOutput } from "../activities/types.ts";
import { taskSetDetails } from "../core/details.ts";
import { noteAttributes } from "./attributes.ts";
import { validateInput } from "./calibrateTask.ts";
import { CandidateStream, type CandidateStreamState } from "./candidates.ts";
import { ACTIVITY_EVENTS, historyIsLong, records, sandboxes } from "./config.ts";
import { slidingWindow } from "./window.ts";

/** Candidates per wanted task before a set is given up as impossible: about half of all mutants survive the gates. */
const CANDIDATES_PER_TASK = 10;

export interface PrepareTaskSetInput {
  readonly name: string;
  readonly spec: TaskSetSpec;
  readonly concurrency: number;
  /** Carried over when the history grows long. */
  readonly carried?: TaskSetState;
}

interface TaskSetState {
  readonly hash: string;
  readonly tasks: readonly string[];
  readonly keys: readonly string[];
  readonly lastCandidate: number;
  readonly stream: CandidateStreamState;
  /** For the details: candidates read, and how many each gate refused. */
  readonly candidates: number;
  readonly refused: Readonly<Record<string, number>>;
}

export async function prepareTaskSet(input: PrepareTaskSetInput): Promise<TaskSetRef> {
  const { spec, name, carried } = input;
  const { hash, found } = carried
    ? { hash: carried.hash, found: null }
    : await records.findTaskSet({ spec, name });
  if (found !== null) {
    noteAttributes({ outcome: "found" });
    return found;
  }
  const stream = new CandidateStream(
    {
      seed: spec.seed,
      randomKeys: ["task-set"],
      environments: spec.environments,
      choice: "round-robin",
      functions: spec.functions,
      mix: spec.mix,
      heldOutShare: spec.heldOutShare,
      exclude: null,
    },
    {
      maxCandidates: spec.tasks * CANDIDATES_PER_TASK,
      perFunctionCap: spec.perFunctionCap,
    },
    carried?.stream,
  );
  const tasks: string[] = [...(carried?.tasks ?? [])];
  const keys: string[] = [...(carried?.keys ?? [])];
  let lastCandidate = carried?.lastCandidate ?? -1;
  let candidates = carried?.candidates ?? 0;
  const refused: Record<string, number> = { ...carried?.refused };
  const since = Date.now();
  const before = tasks.length;
  const show = (): void => {
    const wanted = spec.tasks;
    const pace = { since, now: Date.now(), done: tasks.length - before, left: wanted - tasks.length };
    setCurrentDetails(taskSetDetails({ tasks: tasks.length, wanted, candidates, refused, pace }));
  };
  show();
  const scope = new CancellationScope();
  const end = await scope.run(() =>
    slidingWindow<CandidateRef, ValidateOutput | null>({
      limit: input.concurrency,
      next: () => (tasks.length < spec.tasks ? stream.next() : Promise.resolve(null)),
      work: (candidate) =>
        sandboxes.validate(validateInput(`set/${hash}`, candidate, spec)).catch((error: unknown) => {
          if (isCancellation(error) && scope.consideredCancelled) return null;
          throw error;
        }),
      settle: (candidate, result) => {
        lastCandidate = candidate.index;
        if (result?.taskId != null && !tasks.includes(result.taskId)) {
          tasks.push(result.taskId);
          keys.push(candidate.key);
        }
        candidates++;
        if (result?.rejectedBy != null) refused[result.rejectedBy] = (refused[result.rejectedBy] ?? 0) + 1;
        show();
        return tasks.length < spec.tasks;
      },
      cancel: () => scope.cancel(),
      // A batch of candidates may be synthesised meanwhile.
      cut: () => historyIsLong((input.concurrency + 1) * ACTIVITY_EVENTS),
    }),
  );
  if (end === "cut")
    return await continueAsNew<typeof prepareTaskSet>({
      ...input,
      carried: { hash, tasks, keys, lastCandidate, stream: stream.carried, candidates, refused },
    });
  const set: TaskSetRef = { name, hash, tasks, keys };
  await records.saveTaskSet({ spec, set, lastCandidate });
  noteAttributes({ outcome: "made" });
  return set;
}
