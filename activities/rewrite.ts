/** rewrite: has the author's model word a task anew, and records what came of it as another task (docs/refinement.md). */

import type { ArtifactRef } from "../core/artifact.ts";
import { mayReuse } from "../core/reuse.ts";
import type { StatementLevel, Task } from "../core/task.ts";
import { rewritePrompt } from "../services/author/index.ts";
import {
  findPiece,
  getJson,
  hashJson,
  isWhole,
  putJson,
  recordPiece,
  recordStatement,
  recordTask,
  spendBooks,
} from "../services/store/index.ts";
import { type GateVerdict, writeStatement } from "../services/synthesis/index.ts";
import { repliesOf } from "./author.ts";
import { benchmarksOf } from "./benchmarks.ts";
import { heartbeating } from "./context.ts";
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
    const { artifact, reason } = (await known(services, input)) ?? (await ask(services, input, signal));
    if (artifact === null) return { taskId: null, level: input.level, reason };
    const task = await getJson<Task>(services.artifacts, artifact);
    await recordTask(services.db, task, artifact);
    const level = Math.max(input.level, task.facts.neededLevel ?? 0) as StatementLevel;
    await recordStatement(services.db, writeStatement(task, level));
    return { taskId: task.id, level, reason: null };
  });
}

function keyOf({ scope: _, reuse: __, author, ...asked }: RewriteInput) {
  const content = { ...asked, model: author.model, temperature: author.temperature, ...rewritePrompt() };
  return { kind: "rewrite", contentKey: hashJson(content) } as const;
}

/** A model that is asked again answers otherwise: what it wrote once in this try is taken, too. */
async function known({ db, artifacts }: SandboxServices, input: RewriteInput): Promise<Written | null> {
  const { scope, reuse } = input;
  const upToThisTry = { ...scope, try: scope.try + 1 };
  const found = await findPiece<Written>(db, upToThisTry, keyOf(input));
  if (found === undefined || (found.made !== scope.try && !mayReuse(reuse, "filter"))) return null;
  const { artifact } = found.result;
  if (artifact !== null && !(await isWhole(artifacts, artifact))) return null;
  if (found.made !== scope.try) await recordPiece(db, scope, keyOf(input), found.result, found.made);
  return found.result;
}

async function ask(services: SandboxServices, input: RewriteInput, signal: AbortSignal): Promise<Written> {
  const { scope, candidate, generator, level, action, diagnosis, round, author, decontaminate = [] } = input;
  const { experiment, iteration, try: attempt } = scope;
  const task = await loadTask(services, input.taskId);
  const environment = await services.environments.byKey(task.environment);
  const key = keyOf(input);
  const made = await services.synthesis.rewrite(
    environment,
    {
      ...{ task, level, action, diagnosis, round },
      benchmarks: await benchmarksOf(services, decontaminate),
    },
    {
      settings: author,
      books: spendBooks(services.db, { experiment, iteration, try: attempt, candidate, generator }),
      key: `${experiment}/it/${iteration}/try/${attempt}/task/${candidate}/rewrite/${round}`,
      phase: "refine",
      failures: [],
      replies: repliesOf(services.db, scope, author),
    },
    signal,
  );
  const written: Written =
    "none" in made
      ? { artifact: null, reason: made.none }
      : { artifact: await putJson(services.artifacts, made.task, "task"), reason: null, gates: made.gates };
  await recordPiece(services.db, scope, key, written);
  return written;
}
