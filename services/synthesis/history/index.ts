/** History: a commit of the environment's repository becomes a task (docs/history.md). */
import { TASK_TYPES, type TaskType } from "../../../core/task.ts";
import { EnvironmentError, type History, historyOfPrepared } from "../../environments/index.ts";
import type { PreparedEnvironment } from "../../environments/types.ts";
import { mayChange } from "../split.ts";
import { type Brief, SynthesisError, type TaskGenerator } from "../types.ts";
import { candidateOf, keysOf } from "./candidate.ts";
import { survey } from "./survey.ts";
import type { Surveyed, Usable } from "./types.ts";

export { survey } from "./survey.ts";
export { SKIPS, type Surveyed } from "./types.ts";

/** Of a brief that says nothing of it. */
const HISTORY_DEFAULTS = { maxCommits: 500, maxFiles: 8, maxLines: 200 } as const;

interface Found {
  readonly surveyed: Surveyed;
  readonly usable: Usable;
}

/** Usable commits whose functions are all on the side that the brief allows. */
function allowed(environment: PreparedEnvironment, rows: readonly Surveyed[], brief: Brief): Found[] {
  return rows.flatMap((surveyed) => {
    if (!("usable" in surveyed.outcome)) return [];
    const { usable } = surveyed.outcome;
    return keysOf(environment, usable).every((key) => mayChange(key, brief)) ? [{ surveyed, usable }] : [];
  });
}

/** The type first, by its weight, among those that there are commits of: otherwise bugs would be most of all tasks. */
function weights(found: readonly Found[], { types }: Brief): readonly (readonly [TaskType, number])[] {
  const there = TASK_TYPES.filter((type) => found.some(({ usable }) => usable.type === type));
  return there.map((type) => [type, types?.[type] ?? 1] as const).filter(([, weight]) => weight > 0);
}

export function historyGenerator(): TaskGenerator {
  const surveys = new Map<string, Promise<readonly Surveyed[]>>();
  const surveyOf = (environment: PreparedEnvironment, history: History, brief: Brief) => {
    const settings = brief.history ?? HISTORY_DEFAULTS;
    const key = `${environment.key} ${JSON.stringify(settings)}`;
    const known = surveys.get(key);
    if (known !== undefined) return known;
    const made = survey(environment.entry, history, settings);
    surveys.set(key, made);
    made.catch(() => surveys.delete(key));
    return made;
  };
  return {
    name: "history",
    generate: async (environment, brief, random) => {
      const { name } = environment.entry;
      const history = historyOfPrepared(environment);
      if (history === null)
        return { none: `${name} has no history: history makes tasks of git environments` };
      try {
        const found = allowed(environment, await surveyOf(environment, history, brief), brief);
        const types = weights(found, brief);
        if (types.length === 0) return { none: `no commit of ${name} that the brief allows makes a task` };
        const [type] = types[random.weighted(types.map(([, weight]) => weight))]!;
        const { surveyed, usable } = random.pick(found.filter((one) => one.usable.type === type));
        return await candidateOf(environment, history, surveyed, usable);
      } catch (error) {
        // Of another kind it is the same at every attempt: a shallow repository, a commit that is gone.
        if (!(error instanceof EnvironmentError) || error.kind !== "install") throw error;
        throw new SynthesisError(
          "infrastructure",
          `the history of ${name} cannot be read: ${error.message}`,
          { cause: error },
        );
      }
    },
  };
}
