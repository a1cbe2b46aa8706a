/** The database as Kysely sees it. Primary keys derive from domain keys, so that a retried activity writes the same row again. */
import type { ColumnType, JSONColumnType } from "kysely";

/** Written by the database's clock; for people, never compared. */
type Timestamp = ColumnType<Date, never, never>;
// biome-ignore lint/suspicious/noExplicitAny: rows carry JSON whose shape its writer's type states
type Json<T = any> = JSONColumnType<T & object, string, string>;

export interface Database {
  experiments: {
    name: string;
    seed: number;
    settings: Json;
    settings_hash: string;
    status: string;
    code_version: string;
    result: Json | null;
    created_at: Timestamp;
    updated_at: Timestamp;
  };
  iterations: {
    experiment: string;
    iteration: number;
    try: number;
    status: string;
    start_policy: string;
    end_policy: string | null;
    pool: Json | null;
    pinned: Json;
    created_at: Timestamp;
    updated_at: Timestamp;
  };
  environments: {
    key: string;
    name: string;
    version: string;
    status: string;
    summary: Json;
    created_at: Timestamp;
  };
  tasks: {
    id: string;
    environment: string;
    type: string;
    generator: string;
    functions: Json<string[]>;
    artifact: Json;
    created_at: Timestamp;
  };
  statements: { task_id: string; level: number; hash: string; text: string; created_at: Timestamp };
  /** One per candidate: key (scope, candidate). `scope` = `<experiment>/it/<i>/try/<k>` or `set/<hash>`. */
  validations: {
    scope: string;
    candidate: number;
    task_id: string | null;
    generator: string;
    outcome: string;
    gates: Json;
    created_at: Timestamp;
  };
  /** One per probe of one (candidate, statement level, attempt at refining). The learnability label, with what it is valid for. */
  probes: {
    scope: string;
    candidate: number;
    refinement: number;
    task_id: string;
    level: number;
    policy: string;
    passes: number;
    runs: number;
    label_key: string;
    decision: string;
    group_key: string;
    created_at: Timestamp;
  };
  groups: {
    key: string;
    experiment: string;
    iteration: number;
    try: number;
    phase: string;
    task_id: string;
    level: number;
    policy: string;
    size: number;
    passes: number;
    mean_reward: number;
    zero_variance: boolean;
    created_at: Timestamp;
  };
  /** One accepted rollout per slot. key = `<group key>/<member>`. */
  rollouts: {
    key: string;
    group_key: string;
    member: number;
    task_id: string;
    level: number;
    policy: string;
    content_key: string;
    exit: string;
    truncated: boolean;
    turns: number;
    generated_tokens: number;
    outcome: string | null;
    rule: string | null;
    raw_reward: number | null;
    reward: number | null;
    tree_hash: string;
    change: Json;
    trajectory: Json;
    tools: Json;
    model_seconds: number;
    tool_seconds: number;
    created_at: Timestamp;
  };
  attempts: {
    rollout_key: string;
    attempt: number;
    fence: string;
    status: string;
    error: string | null;
    created_at: Timestamp;
    updated_at: Timestamp;
  };
  /** The live ledger: rows of running attempts only, deleted when a rollout is accepted: its trajectory holds them too. */
  ledger: {
    rollout_key: string;
    fence: string;
    turn: number;
    prompt_tokens: Buffer;
    sampled_tokens: Buffer;
    log_probs: Buffer;
    weight_version: string;
    new_segment: boolean;
    record: Json;
    created_at: Timestamp;
  };
  /** What each update was offered: the groups collected for it. `artifact` is null when every group was dropped, so that no update was made. */
  batches: {
    experiment: string;
    iteration: number;
    try: number;
    update: number;
    groups: Json<string[]>;
    kept_groups: number;
    dropped_groups: number;
    artifact: Json | null;
    created_at: Timestamp;
  };
  updates: {
    experiment: string;
    iteration: number;
    try: number;
    update: number;
    batch: Json;
    parent_policy: string;
    policy: string;
    kept_groups: number;
    dropped_groups: number;
    metrics: Json;
    created_at: Timestamp;
  };
  policies: {
    id: string;
    kind: string;
    parent: string | null;
    step: number;
    sha256: string;
    checkpoint: Json;
    created_at: Timestamp;
  };
  evaluations: {
    key: string;
    experiment: string;
    iteration: number;
    policy: string;
    set_name: string;
    set_hash: string;
    mode: string;
    tasks: number;
    samples: number;
    pass_at_1: number;
    low: number;
    high: number;
    results: Json;
    created_at: Timestamp;
  };
  task_sets: { hash: string; spec: Json; tasks: Json<string[]>; created_at: Timestamp };
  artifacts: { sha256: string; kind: string; bytes: number; uri: string; created_at: Timestamp };
  events: { key: string; experiment: string; kind: string; detail: Json; created_at: Timestamp };
}
