/** What rows name: which experiment needs which policies, tasks, sets and artifacts, and which of those need others. */
import { type RawBuilder, sql } from "kysely";
import type { ExperimentStatus } from "../../core/statuses.ts";
import type { Node } from "./gc-select.ts";
import type { Executor, TableName } from "./rows.ts";

export interface RecordedExperiment {
  readonly name: string;
  readonly status: ExperimentStatus;
  readonly held: boolean;
  readonly createdMs: number;
  /** Of its last change or measurement. */
  readonly changedMs: number;
}

export interface NamedRecord {
  readonly nowMs: number;
  readonly experiments: readonly RecordedExperiment[];
  /** Policies, tasks and sets, with the times of their rows. */
  readonly shared: ReadonlyMap<Node, number>;
  readonly edges: ReadonlyMap<Node, ReadonlySet<Node>>;
  /** Owners of rows that are on record themselves nowhere: experiments whose row is gone. */
  readonly strays: readonly Node[];
}

type Owner = RawBuilder<string>;

/** Of attempts that were superseded, and came to something after all: a reference to a trajectory nobody reads. */
export const oldLateResults = (keepDays: number): RawBuilder<boolean> =>
  sql`late_result -> 'trajectory' is not null and updated_at < now() - make_interval(days => ${keepDays}::integer)`;

/** `<experiment>/it/…` belongs to the experiment, `set/<hash>` is a set. */
const scopeOwner = sql<string>`case when scope like '%/it/%' then 'experiment/' || split_part(scope, '/', 1) else scope end`;
const keyOwner = (column: string) => sql<string>`'experiment/' || split_part(${sql.ref(column)}, '/', 1)`;
const own = (kind: string, column: string) => sql<string>`${sql.lit(`${kind}/`)} || ${sql.ref(column)}`;

/** The node that a row of the table is part of. */
export const OWNER: Readonly<Partial<Record<TableName, Owner>>> = {
  experiments: own("experiment", "name"),
  iterations: own("experiment", "experiment"),
  groups: own("experiment", "experiment"),
  batches: own("experiment", "experiment"),
  updates: own("experiment", "experiment"),
  evaluations: own("experiment", "experiment"),
  events: own("experiment", "experiment"),
  pieces: own("experiment", "experiment"),
  spend: own("experiment", "experiment"),
  failures: own("experiment", "experiment"),
  sandbox_use: own("experiment", "experiment"),
  regrades: own("experiment", "experiment"),
  regrade_runs: own("experiment", "experiment"),
  rollouts: keyOwner("key"),
  attempts: keyOwner("rollout_key"),
  ledger: keyOwner("rollout_key"),
  validations: scopeOwner,
  probes: scopeOwner,
  tasks: own("task", "id"),
  statements: own("task", "task_id"),
  task_sets: own("set", "hash"),
  policies: own("policy", "id"),
  imports: own("import", "key"),
};

/** Columns that hold the id of something shared. */
const IDS: readonly (readonly [table: TableName, column: string, kind: "policy" | "task" | "set"])[] = [
  ["iterations", "start_policy", "policy"],
  ["iterations", "end_policy", "policy"],
  ["updates", "parent_policy", "policy"],
  ["updates", "policy", "policy"],
  ["groups", "policy", "policy"],
  ["groups", "task_id", "task"],
  ["rollouts", "policy", "policy"],
  ["rollouts", "task_id", "task"],
  ["validations", "task_id", "task"],
  ["probes", "task_id", "task"],
  ["probes", "policy", "policy"],
  ["failures", "task_id", "task"],
  ["evaluations", "policy", "policy"],
  ["evaluations", "set_hash", "set"],
  ["policies", "parent", "policy"],
];

/** How each JSON column names things. */
export const JSON_COLUMNS: Readonly<Record<string, "anything" | "artifacts" | "nothing">> = {
  // Whole documents: every text in them that is the id of something names it.
  "experiments.settings": "anything",
  "experiments.result": "anything",
  "experiments.amendments": "anything",
  "iterations.pinned": "anything",
  "iterations.overrides": "anything",
  "pieces.result": "anything",
  "validations.repairs": "anything",
  "task_sets.spec": "anything",
  "task_sets.tasks": "anything",
  // One reference each.
  "tasks.artifact": "artifacts",
  "imports.artifact": "artifacts",
  "rollouts.trajectory": "artifacts",
  "rollouts.verdict_log": "artifacts",
  "attempts.late_result": "artifacts",
  "batches.artifact": "artifacts",
  "updates.batch": "artifacts",
  "policies.checkpoint": "artifacts",
  "policies.files": "artifacts",
  // Counts, texts, and names of what other columns of the same experiment name, too.
  "experiments.hold": "nothing",
  "iterations.pool": "nothing",
  "iterations.keys": "nothing",
  "environments.summary": "nothing",
  "imports.origin": "nothing",
  "tasks.functions": "nothing",
  "validations.gates": "nothing",
  "validations.evidence": "nothing",
  "probes.diagnosis": "nothing",
  "rollouts.change": "nothing",
  "rollouts.versions": "nothing",
  "rollouts.tools": "nothing",
  "rollouts.evidence": "nothing",
  "rollouts.tokens": "nothing",
  "attempts.lost_tokens": "nothing",
  "spend.reserved": "nothing",
  "spend.used": "nothing",
  "regrades.offending": "nothing",
  "regrades.evidence": "nothing",
  "ledger.record": "nothing",
  "ledger.reply": "nothing",
  "batches.groups": "nothing",
  "batches.pace": "nothing",
  "updates.metrics": "nothing",
  "evaluations.results": "nothing",
  "events.detail": "nothing",
  "requests.response": "nothing",
  "engine_versions.server": "nothing",
};

/** From one snapshot where `tx` is one. Late results that are older than `keepDays` name nothing any more. */
export async function readNames(tx: Executor, keepDays: number): Promise<NamedRecord> {
  const experiments = await readExperiments(tx);
  const { rows: clock } = await sql<{ now: number }>`
    select extract(epoch from now())::float8 * 1000 as now`.execute(tx);
  const shared = new Map<Node, number>();
  const { rows: found } = await sql<{ node: Node; at: number }>`
    select 'policy/' || id as node, extract(epoch from created_at)::float8 * 1000 as at from policies
    union all select 'task/' || id, extract(epoch from created_at)::float8 * 1000 from tasks
    union all select 'set/' || hash, extract(epoch from created_at)::float8 * 1000 from task_sets
    union all select scope, max(extract(epoch from created_at))::float8 * 1000 from validations
      where scope like 'set/%' and scope not like '%/it/%' group by scope`.execute(tx);
  for (const { node, at } of found) shared.set(node, Math.max(at, shared.get(node) ?? 0));

  const edges = new Map<Node, Set<Node>>();
  const add = (owner: Node, named: Node) => {
    const known = edges.get(owner);
    if (known === undefined) edges.set(owner, new Set([named]));
    else known.add(named);
  };
  for (const [table, column, kind] of IDS) {
    const { rows } = await sql<{ owner: Node; id: string }>`
      select distinct ${OWNER[table]!} as owner, ${sql.ref(column)} as id from ${sql.table(table)}
      where ${sql.ref(column)} is not null`.execute(tx);
    for (const { owner, id } of rows) add(owner, `${kind}/${id}`);
  }
  for (const [name, names] of Object.entries(JSON_COLUMNS)) {
    const [table, column] = name.split(".") as [TableName, string];
    if (names === "artifacts") {
      const { rows } = await sql<{ owner: Node; sha256: string }>`
        select distinct ${OWNER[table]!} as owner, found[1] as sha256
        from ${sql.table(table)}, regexp_matches(${sql.ref(column)}::text, 'artifact:([0-9a-f]{64})', 'g') as found
        where not (${column === "late_result" ? oldLateResults(keepDays) : sql<boolean>`false`})`.execute(tx);
      for (const { owner, sha256 } of rows) add(owner, `artifact/${sha256}`);
    } else if (names === "anything") {
      const { rows } = await sql<{ owner: Node; value: unknown }>`
        select ${OWNER[table]!} as owner, ${sql.ref(column)} as value from ${sql.table(table)}
        where ${sql.ref(column)} is not null`.execute(tx);
      for (const { owner, value } of rows)
        for (const text of textsIn(value)) for (const node of nodesNamed(text, shared)) add(owner, node);
    }
  }
  await addLineage(tx, edges, add);
  const known = new Set<string>(experiments.map(({ name }) => `experiment/${name}`));
  const strays = [...edges.keys()].filter((owner) => owner.startsWith("experiment/") && !known.has(owner));
  return { nowMs: clock[0]!.now, experiments, shared, edges, strays };
}

async function readExperiments(tx: Executor): Promise<RecordedExperiment[]> {
  const { rows } = await sql<RecordedExperiment>`
    select name, status, hold is not null as held, extract(epoch from created_at)::float8 * 1000 as "createdMs",
      extract(epoch from greatest(updated_at,
        (select max(i.updated_at) from iterations i where i.experiment = e.name),
        (select max(v.created_at) from evaluations v where v.experiment = e.name)))::float8 * 1000 as "changedMs"
    from experiments e order by created_at, name`.execute(tx);
  return rows;
}

/** An experiment that names a policy it did not make itself needs every experiment that made it. */
async function addLineage(
  tx: Executor,
  edges: ReadonlyMap<Node, ReadonlySet<Node>>,
  add: (owner: Node, named: Node) => void,
): Promise<void> {
  const { rows } = await sql<{ experiment: string; policy: string }>`
    select distinct experiment, policy from updates`.execute(tx);
  const makers = new Map<Node, Set<Node>>();
  for (const { experiment, policy } of rows) {
    const of = makers.get(`policy/${policy}`) ?? new Set();
    makers.set(`policy/${policy}`, of.add(`experiment/${experiment}`));
  }
  for (const [owner, named] of [...edges]) {
    if (!owner.startsWith("experiment/")) continue;
    for (const node of [...named]) {
      const of = makers.get(node);
      if (of !== undefined && !of.has(owner)) for (const maker of of) add(owner, maker);
    }
  }
}

/** Every text of a JSON value, keys included. */
export function* textsIn(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (typeof value === "object" && value !== null)
    for (const [key, member] of Object.entries(value)) {
      yield key;
      yield* textsIn(member);
    }
}

function nodesNamed(text: string, shared: ReadonlyMap<Node, number>): Node[] {
  const artifact = /^artifact:([0-9a-f]{64})$/.exec(text);
  if (artifact) return [`artifact/${artifact[1]!}`];
  return (["policy", "task", "set"] as const)
    .map((kind): Node => `${kind}/${text}`)
    .filter((node) => shared.has(node));
}
