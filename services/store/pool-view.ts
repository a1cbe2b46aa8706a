/**
 * What an iteration's pool came to: what became of its candidates, what kinds of tasks it holds and how new they are, and what its climb had of them.
 * Of the candidates only those count whose results were read: how many more were begun beside them is chance.
 */
import { sql } from "kysely";
import { dropReasonOf, type ProbeDecision } from "../../core/refinement.ts";
import { scopeKey } from "../../core/scope.ts";
import { StoreError } from "./errors.ts";
import { getExperiment, type IterationRow } from "./experiments.ts";
import { candidateOfKey, groupKind } from "./keys.ts";
import { lastRead, type PinnedPool, type PoolTask, poolTasks, probesOf } from "./pools.ts";
import type { Executor } from "./rows.ts";
import { countBy, type PassCounts, passCounts } from "./series.ts";
import { currentTries } from "./summary.ts";

/** How many of a pool's functions or files no task of the pool before it has. */
export interface Churn {
  readonly new: number;
  readonly of: number;
}

/** Candidates by what they came to; by gate and by reason. */
export interface Outcomes {
  readonly rejected: Readonly<Record<string, number>>;
  readonly dropped: Readonly<Record<string, number>>;
  /** Indices without a candidate of their own. */
  readonly leftOut: Readonly<Record<string, number>>;
}

export interface PoolView extends Outcomes {
  readonly iteration: number;
  readonly try: number;
  readonly status: string;
  /** The one that the pool was calibrated against. */
  readonly policy: string;
  /** It climbed on the tasks of an earlier iteration and made none. */
  readonly given: boolean;
  /** Validated; those of them that no gate rejected, and that were probed. */
  readonly candidates: number;
  readonly valid: number;
  readonly probed: number;
  /** Of those probed: in the admitted band at the first probe, and after the last one. */
  readonly learnableAtFirst: number;
  readonly learnableAtLast: number;
  readonly refined: number;
  readonly admitted: number;
  /** Tasks beside them that only a hint makes solvable: climbed too, and in no other number here but in `rollouts`. */
  readonly hinted: number;
  /** Admitted tasks by type, by `<generator> <type>`, by environment and by the level of their statements. */
  readonly types: Readonly<Record<string, number>>;
  readonly kinds: Readonly<Record<string, number>>;
  readonly environments: Readonly<Record<string, number>>;
  readonly levels: Readonly<Record<string, number>>;
  /** Mean words of the statements that tasks were admitted with; null without any. */
  readonly statementWords: number | null;
  /** Against the iteration before; null for the first, and where no task says what it changes. */
  readonly churn: { readonly functions: Churn; readonly files: Churn } | null;
  readonly firstProbe: PassCounts;
  readonly lastProbe: PassCounts;
  /**
   * Groups sampled for the climb, and those of them whose raw rewards were all equal. Probes that became groups are none: they are mixed by choice;
   * nor are groups of hinted tasks.
   */
  readonly groups: number;
  readonly zeroVariance: number;
  readonly updates: number;
  /** Of the candidates that count; of every group of the climb. */
  readonly rollouts: { readonly probe: number; readonly hints: number; readonly climb: number };
}

/** Of the current try of every iteration, in order, or of one iteration. Throws StoreError `missing`. */
export async function poolViews(db: Executor, experiment: string, iteration?: number): Promise<PoolView[]> {
  await getExperiment(db, experiment);
  const tries = await currentTries(db, experiment);
  if (iteration !== undefined && !tries.some((row) => row.iteration === iteration))
    throw new StoreError("missing", `experiment "${experiment}" has no iteration ${iteration}`);
  const views: PoolView[] = [];
  let before: readonly PoolTask[] | null = null;
  for (const row of tries) {
    const admitted = await poolTasks(db, row);
    if (iteration === undefined || row.iteration === iteration)
      views.push(await viewOf(db, row, admitted, before));
    before = admitted;
  }
  return views;
}

async function viewOf(
  db: Executor,
  row: IterationRow,
  admitted: readonly PoolTask[],
  before: readonly PoolTask[] | null,
): Promise<PoolView> {
  const validations = await db
    .selectFrom("validations")
    .select(["candidate", "task_id", "outcome"])
    .where("scope", "=", scopeKey(row))
    .where("candidate", "<=", lastRead(row))
    .execute();
  const probes = await probesOf(db, row);
  const lasts = [...new Map(probes.map((probe) => [probe.candidate, probe])).values()];
  const firsts = probes.filter(({ refinement }) => refinement === 0);
  const valid = validations.filter(({ task_id }) => task_id !== null);
  const words = admitted.flatMap(({ words: count }) => count ?? []);
  return {
    iteration: row.iteration,
    try: row.try,
    status: row.status,
    policy: row.start_policy,
    given: (row.pinned as PinnedPool).pool !== undefined,
    candidates: validations.length,
    valid: valid.length,
    probed: firsts.length,
    learnableAtFirst: firsts.filter(({ decision }) => decision === "admit").length,
    learnableAtLast: lasts.filter(({ decision }) => decision === "admit").length,
    refined: lasts.filter(({ refinement }) => refinement > 0).length,
    admitted: admitted.length,
    rejected: countBy(validations.flatMap(({ task_id, outcome }) => (task_id === null ? [outcome] : []))),
    dropped: countBy(lasts.flatMap(({ decision }) => droppedAs(decision, row) ?? [])),
    leftOut: await leftOut(db, row, new Set(validations.map(({ candidate }) => candidate))),
    types: countBy(admitted.map(({ type }) => type)),
    kinds: countBy(admitted.map(({ generator, type }) => `${generator} ${type}`)),
    environments: countBy(admitted.map(({ environment }) => environment)),
    levels: countBy(admitted.map(({ level }) => String(level))),
    statementWords: words.length === 0 ? null : words.reduce((sum, count) => sum + count, 0) / words.length,
    churn: before === null ? null : churnOf(admitted, before),
    firstProbe: passCounts(firsts),
    lastProbe: passCounts(lasts),
    ...(await climbed(db, row)),
  };
}

/** Why the filter gave a candidate up after its last probe; null where it did not, or may still go on. */
function droppedAs(decision: ProbeDecision, row: IterationRow): string | null {
  const reason = dropReasonOf(decision);
  if (reason !== null) return reason;
  // Hinted tasks are counted apart.
  if (decision === "admit" || decision === "hint" || row.last_candidate === null) return null;
  return `${decision} came to nothing`;
}

function churnOf(admitted: readonly PoolTask[], before: readonly PoolTask[]): PoolView["churn"] {
  const functions = newIn(namesOf(admitted), namesOf(before));
  if (functions.of === 0) return null;
  return { functions, files: newIn(filesOf(admitted), filesOf(before)) };
}

const namesOf = (rows: readonly PoolTask[]) => new Set(rows.flatMap((row) => row.functions));
/** `<package>#<file>#<function>`. */
const filesOf = (rows: readonly PoolTask[]) =>
  new Set([...namesOf(rows)].map((name) => name.split("#").slice(0, 2).join("#")));
const newIn = (now: ReadonlySet<string>, before: ReadonlySet<string>): Churn => ({
  new: [...now].filter((name) => !before.has(name)).length,
  of: now.size,
});

/** Of the pieces of the try, those that never became a candidate. */
async function leftOut(
  db: Executor,
  row: IterationRow,
  candidates: ReadonlySet<number>,
): Promise<Record<string, number>> {
  const { rows } = await sql<{ index: number; none: string | null }>`
    select (result ->> 'index')::int as index, result ->> 'none' as none from pieces
    where experiment = ${row.experiment} and iteration = ${row.iteration} and try = ${row.try} and kind = 'candidate'
      and (result ->> 'index')::int <= ${lastRead(row)}`.execute(db);
  // One that is drawn while the pool is being filled may still become one.
  const drawn = row.last_candidate === null ? rows.filter(({ none }) => none !== null) : rows;
  return countBy(
    drawn
      .filter(({ index }) => !candidates.has(index))
      .map(({ none }) => none ?? "made before, or beyond a cap of the pool"),
  );
}

async function climbed(
  db: Executor,
  row: IterationRow,
): Promise<Pick<PoolView, "hinted" | "groups" | "zeroVariance" | "updates" | "rollouts">> {
  const { experiment, iteration, try: attempt } = row;
  const { rows } = await sql<{
    hinted: number;
    groups: number;
    zeroVariance: number;
    updates: number;
    probe: number;
    hints: number;
    climb: number;
  }>`
    with own as (
      select * from groups where experiment = ${experiment} and iteration = ${iteration} and try = ${attempt}
    ), tried as (
      select *, ${groupKind("own.key")} as kind from own
      where phase = 'probe' and ${candidateOfKey("own.key")} <= ${lastRead(row)}
    ), hinted as (
      select distinct task_id from tried where kind = 'hint' and passes > 0
    ), climbed as (
      select * from own where phase = 'climb'
    ), calibrated as (
      select * from climbed where task_id not in (select task_id from hinted)
    )
    select (select count(*)::int from hinted) as hinted,
      (select count(*)::int from calibrated) as groups,
      (select count(*)::int from calibrated where zero_variance) as "zeroVariance",
      (select count(*)::int from updates where experiment = ${experiment} and iteration = ${iteration} and try = ${attempt}) as updates,
      (select count(*)::int from rollouts r join climbed g on g.key = r.group_key) as climb,
      (select count(*)::int from rollouts r join tried g on g.key = r.group_key where g.kind = 'probe') as probe,
      (select count(*)::int from rollouts r join tried g on g.key = r.group_key where g.kind = 'hint') as hints`.execute(
    db,
  );
  const { probe, hints, climb, ...counted } = rows[0]!;
  return { ...counted, rollouts: { probe, hints, climb } };
}
