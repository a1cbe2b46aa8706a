/** The first schema: the tables of `../schema.ts`. */
import { type CreateTableBuilder, type Kysely, sql } from "kysely";

type Columns = Readonly<Record<string, string>>;

/*
 * One line per column, `?` = may be null. `json`, not `jsonb`: what an agent writes may hold \u0000, which jsonb refuses, and a recorded text
 * must come back with its keys in their order.
 */
const TABLES: Readonly<Record<string, { readonly columns: Columns; readonly key: readonly string[] }>> = {
  experiments: {
    columns: {
      name: "text",
      seed: "bigint",
      settings: "json",
      settings_hash: "text",
      status: "text",
      code_version: "text",
      result: "json?",
      created_at: "now",
      updated_at: "now",
    },
    key: ["name"],
  },
  iterations: {
    columns: {
      experiment: "text",
      iteration: "integer",
      try: "integer",
      status: "text",
      start_policy: "text",
      end_policy: "text?",
      pool: "json?",
      pinned: "json",
      created_at: "now",
      updated_at: "now",
    },
    key: ["experiment", "iteration", "try"],
  },
  environments: {
    columns: {
      key: "text",
      name: "text",
      version: "text",
      status: "text",
      summary: "json",
      created_at: "now",
    },
    key: ["key"],
  },
  tasks: {
    columns: {
      id: "text",
      environment: "text",
      type: "text",
      generator: "text",
      functions: "json",
      artifact: "json",
      created_at: "now",
    },
    key: ["id"],
  },
  statements: {
    columns: { task_id: "text", level: "integer", hash: "text", text: "text", created_at: "now" },
    key: ["task_id", "level"],
  },
  validations: {
    columns: {
      scope: "text",
      candidate: "integer",
      task_id: "text?",
      generator: "text",
      outcome: "text",
      gates: "json",
      created_at: "now",
    },
    key: ["scope", "candidate"],
  },
  probes: {
    columns: {
      scope: "text",
      candidate: "integer",
      refinement: "integer",
      task_id: "text",
      level: "integer",
      policy: "text",
      passes: "integer",
      runs: "integer",
      label_key: "text",
      decision: "text",
      group_key: "text",
      created_at: "now",
    },
    key: ["scope", "candidate", "refinement"],
  },
  groups: {
    columns: {
      key: "text",
      experiment: "text",
      iteration: "integer",
      try: "integer",
      phase: "text",
      task_id: "text",
      level: "integer",
      policy: "text",
      size: "integer",
      passes: "integer",
      mean_reward: "double precision",
      zero_variance: "boolean",
      created_at: "now",
    },
    key: ["key"],
  },
  rollouts: {
    columns: {
      key: "text",
      group_key: "text",
      member: "integer",
      task_id: "text",
      level: "integer",
      policy: "text",
      content_key: "text",
      exit: "text",
      truncated: "boolean",
      turns: "integer",
      generated_tokens: "integer",
      outcome: "text?",
      rule: "text?",
      raw_reward: "double precision?",
      reward: "double precision?",
      tree_hash: "text",
      change: "json",
      trajectory: "json",
      tools: "json",
      model_seconds: "double precision",
      tool_seconds: "double precision",
      created_at: "now",
    },
    key: ["key"],
  },
  attempts: {
    columns: {
      rollout_key: "text",
      attempt: "integer",
      fence: "text",
      status: "text",
      error: "text?",
      created_at: "now",
      updated_at: "now",
    },
    key: ["rollout_key", "attempt"],
  },
  ledger: {
    columns: {
      rollout_key: "text",
      fence: "text",
      turn: "integer",
      prompt_tokens: "bytea",
      sampled_tokens: "bytea",
      log_probs: "bytea",
      weight_version: "text",
      new_segment: "boolean",
      record: "json",
      created_at: "now",
    },
    key: ["fence", "turn"],
  },
  batches: {
    columns: {
      experiment: "text",
      iteration: "integer",
      try: "integer",
      update: "integer",
      groups: "json",
      kept_groups: "integer",
      dropped_groups: "integer",
      artifact: "json?",
      created_at: "now",
    },
    key: ["experiment", "iteration", "try", "update"],
  },
  updates: {
    columns: {
      experiment: "text",
      iteration: "integer",
      try: "integer",
      update: "integer",
      batch: "json",
      parent_policy: "text",
      policy: "text",
      kept_groups: "integer",
      dropped_groups: "integer",
      metrics: "json",
      created_at: "now",
    },
    key: ["experiment", "iteration", "try", "update"],
  },
  policies: {
    columns: {
      id: "text",
      kind: "text",
      parent: "text?",
      step: "integer",
      sha256: "text",
      checkpoint: "json",
      created_at: "now",
    },
    key: ["id"],
  },
  evaluations: {
    columns: {
      key: "text",
      experiment: "text",
      iteration: "integer",
      policy: "text",
      set_name: "text",
      set_hash: "text",
      mode: "text",
      tasks: "integer",
      samples: "integer",
      pass_at_1: "double precision",
      low: "double precision",
      high: "double precision",
      results: "json",
      created_at: "now",
    },
    key: ["key"],
  },
  task_sets: { columns: { hash: "text", spec: "json", tasks: "json", created_at: "now" }, key: ["hash"] },
  artifacts: {
    columns: { sha256: "text", kind: "text", bytes: "bigint", uri: "text", created_at: "now" },
    key: ["sha256"],
  },
  events: {
    columns: { key: "text", experiment: "text", kind: "text", detail: "json", created_at: "now" },
    key: ["key"],
  },
};

/** Lookups the faces and the filter make besides those by key. */
const INDEXES: readonly (readonly [table: string, columns: readonly string[]])[] = [
  ["validations", ["task_id"]],
  ["probes", ["task_id"]],
  ["groups", ["experiment", "iteration"]],
  ["rollouts", ["group_key"]],
  ["rollouts", ["content_key"]],
  ["ledger", ["rollout_key"]],
  ["evaluations", ["experiment", "iteration"]],
  ["events", ["experiment", "created_at"]],
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const [name, { columns, key }] of Object.entries(TABLES)) {
    let table: CreateTableBuilder<string, string> = db.schema.createTable(name);
    for (const [column, type] of Object.entries(columns)) {
      const nullable = type.endsWith("?");
      const sqlType = type === "now" ? "timestamptz" : type.replace("?", "");
      table = table.addColumn(column, sql.raw(sqlType), (definition) => {
        const timed = type === "now" ? definition.defaultTo(sql`now()`) : definition;
        return nullable ? timed : timed.notNull();
      });
    }
    await table.addPrimaryKeyConstraint(`${name}_key`, [...key]).execute();
  }
  for (const [table, columns] of INDEXES)
    await db.schema
      .createIndex(`${table}_by_${columns.join("_")}`)
      .on(table)
      .columns([...columns])
      .execute();
  await db.schema.createIndex("attempts_fence").unique().on("attempts").column("fence").execute();
  // The slot's current fence: at most one attempt of a rollout runs.
  await sql`create unique index attempts_current on attempts (rollout_key) where status = 'running'`.execute(
    db,
  );
}
