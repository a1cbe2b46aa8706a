/** Where a task comes from, and what beside its tests decides it, in sentences: nothing for what was made by rule and is judged by tests alone. */
import type { Task, TypeCheck } from "./task.ts";

export function originLines({ facts }: Pick<Task, "facts">): string[] {
  const { commit, author, revises } = facts.origin ?? {};
  return [
    commit && `made of commit ${commit.sha} of ${commit.repository}`,
    author &&
      `written by ${author.model} as ${author.mode}, prompt ${author.prompt} (${author.promptHash.slice(0, 12)}), sent back ${author.repairs} ×`,
    revises && `revision ${revises.round} of ${revises.task}, by ${revises.action}`,
    facts.check && `checked besides: ${checkLine(facts.check)}`,
    facts.neededLevel !== undefined && `its tests need a statement of level ${facts.neededLevel} at least`,
  ].filter((line) => typeof line === "string");
}

/** Of a candidate's earlier forms, oldest first: those that were refused, and valid ones that were made harder. */
export function earlierFormsLine(forms: readonly { readonly outcome: string }[]): string {
  const outcomes = forms.map(({ outcome }) => outcome).join(", ");
  return `${forms.length} earlier form${forms.length === 1 ? "" : "s"}: ${outcomes}`;
}

function checkLine(check: TypeCheck): string {
  if (check.type === "performance")
    return `at least ${check.minSpeedup} times as fast on ${check.workload.path}`;
  if (check.type === "migration")
    return [
      ...check.absent.map((module) => `no import of ${module}`),
      ...check.present.map((module) => `an import of ${module}`),
    ].join(", ");
  return check.structure.map(({ kind, ...of }) => `${kind} ${Object.values(of).flat().join(" ")}`).join(", ");
}
