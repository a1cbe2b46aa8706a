/** A fixed set of validated tasks, the same for every experiment that asks for it: held-out sets, validation sets. */
import { CancellationScope, isCancellation } from "@temporalio/workflow";
import type { CandidateRef, TaskSetRef, TaskSetSpec, ValidateOutput } from "../activities/types.ts";
import { validateInput } from "./calibrateTask.ts";
import { CandidateStream, EMPTY_STREAM } from "./candidates.ts";
import { records, sandboxes, withSummary } from "./config.ts";
import { slidingWindow } from "./window.ts";

/** Candidates per wanted task before a set is given up as impossible: about half of all mutants survive the gates. */
const CANDIDATES_PER_TASK = 10;

export interface PrepareTaskSetInput {
  readonly name: string;
  readonly spec: TaskSetSpec;
  readonly concurrency: number;
}

export async function prepareTaskSet(input: PrepareTaskSetInput): Promise<TaskSetRef> {
  const { spec, name } = input;
  const { hash, found } = await records.findTaskSet({ spec, name });
  if (found !== null) return found;
  const stream = new CandidateStream(
    {
      seed: spec.seed,
      randomKeys: ["task-set"],
      environments: spec.environments,
      choice: "round-robin",
      functions: spec.functions,
      mix: spec.mix,
      heldOutShare: spec.heldOutShare,
    },
    spec.tasks * CANDIDATES_PER_TASK,
    spec.perFunctionCap,
    EMPTY_STREAM,
  );
  const tasks: string[] = [];
  const keys: string[] = [];
  let lastCandidate = -1;
  const scope = new CancellationScope();
  await scope.run(() =>
    slidingWindow<CandidateRef, ValidateOutput | null>({
      limit: input.concurrency,
      next: () => (tasks.length < spec.tasks ? stream.next() : Promise.resolve(null)),
      work: (candidate) =>
        sandboxes.validate
          .executeWithOptions(
            withSummary(
              "sandbox",
              `validate ${candidate.generator} candidate ${candidate.index} in ${candidate.environment.name}`,
            ),
            [validateInput(`set/${hash}`, candidate, spec)],
          )
          .catch((error: unknown) => {
            if (isCancellation(error) && scope.consideredCancelled) return null;
            throw error;
          }),
      settle: (candidate, result) => {
        lastCandidate = candidate.index;
        if (result?.taskId != null && !tasks.includes(result.taskId)) {
          tasks.push(result.taskId);
          keys.push(candidate.key);
        }
        return tasks.length < spec.tasks;
      },
      cancel: () => scope.cancel(),
    }),
  );
  const set: TaskSetRef = { name, hash, tasks, keys };
  await records.saveTaskSet({ spec, set, lastCandidate });
  return set;
}
