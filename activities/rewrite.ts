/** rewrite: has the author's model word a task anew, and records what came of it as another task (docs/refinement.md). */

import type { ArtifactRef } from "../core/artifact.ts";
import { scopeKey } from "../core/scope.ts";
import type { StatementLevel, Task } from "../core/task.ts";
import { rewritePrompt } from "../services/author/index.ts";
import { getJson, isWhole, putJson, recordStatement, recordTask } from "../services/store/index.ts";
import { type GateVerdict, writeStatement } from "../services/synthesis/index.ts";
import { booksOf, repliesOf } from "./author.ts";
import { benchmarksOf } from "./benchmarks.ts";
import { heartbeating } from "./context.ts";
import { pieceOf } from "./pieces.ts";
import type { SandboxServices } from "./services.ts";
import { loadTask } from "./tasks.ts";
import type { RewriteInput, RewriteOutput } from "./types.ts";

/** What came of one request, as it is kept. */
interface Written {
  /** The new task; null where no text passed. */
  readonly artifact: ArtifactRef | null;
  readonly reason: string | null;
  /** What its text passed. */
  readonly gates?: readonly GateVerdict[];
}

export async function rewrite(services: SandboxServices, input: RewriteInput): Promise<RewriteOutput> {
  return heartbeating(async ({ signal }) => {
    const { scope, reuse } = input;
    const { artifact, reason } = await pieceOf<Written>(
      services,
      { kind: "rewrite", phase: "filter", scope, reuse, own: true, content: contentOf(input) },
      async ({ artifact }) => artifact === null || isWhole(services.artifacts, artifact),
      () => ask(services, input, signal),
    );
    if (artifact === null) return { taskId: null, level: input.level, reason };
    const task = await getJson<Task>(services.artifacts, artifact);
    await recordTask(services.db, task, artifact);
    const level = Math.max(input.level, task.facts.neededLevel ?? 0) as StatementLevel;
    await recordStatement(services.db, writeStatement(task, level));
    return { taskId: task.id, level, reason: null };
  });
}

function contentOf({ scope: _, reuse: __, author, ...asked }: RewriteInput): object {
  return { ...asked, model: author.model, temperature: author.temperature, ...rewritePrompt() };
}

async function ask(services: SandboxServices, input: RewriteInput, signal: AbortSignal): Promise<Written> {
  const { scope, candidate, generator, level, action, diagnosis, round, author, decontaminate = [] } = input;
  const task = await loadTask(services, input.taskId);
  const environment = await services.environments.byKey(task.environment);
  const made = await services.synthesis.rewrite(
    environment,
    {
      ...{ task, level, action, diagnosis, round },
      benchmarks: await benchmarksOf(services, decontaminate),
    },
    {
      settings: author,
      books: booksOf(services.db, scope, candidate, generator),
      key: `${scopeKey(scope)}/task/${candidate}/rewrite/${round}`,
      phase: "refine",
      failures: [],
      replies: repliesOf(services.db, scope, author),
    },
    signal,
  );
  if ("none" in made) return { artifact: null, reason: made.none };
  const artifact = await putJson(services.artifacts, made.task, "task");
  return { artifact, reason: null, gates: made.gates };
}
