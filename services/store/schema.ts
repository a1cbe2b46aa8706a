/** The database as Kysely sees it. Primary keys derive from domain keys, so that a retried activity writes the same row again. */
import type { ColumnType, Generated, JSONColumnType } from "kysely";
import type { ProbeDecision } from "../../core/refinement.ts";

/** Written by the database's clock; for people, never compared. */
type Timestamp = ColumnType<Date, never, never>;
// biome-ignore lint/suspicious/noExplicitAny: rows carry JSON whose shape its writer's type states
type Json<T = any> = JSONColumnType<T & object, string, string>;
/** May be left out when a row is written: null then. */
type Optional<T> = ColumnType<T | null, T | null | undefined, T | null>;
// biome-ignore lint/suspicious/noExplicitAny: as above
type OptionalJson<T = any> = ColumnType<(T & object) | null, string | null | undefined, string | null>;

export interface Database {
  experiments: {
    name: string;
    seed: number;
    settings: Json;
    settings_hash: string;
    status: string;
    code_version: string;
    result: Json | null;
    /** A `Hold` (core/steering.ts) while everything waits; null = nothing is held. */
    hold: OptionalJson;
    /** Counts resumes: budgets and watchdogs look at one epoch only. */
    epoch: Generated<number>;
    /** `Amendment[]` (core/steering.ts), oldest first. */
    // biome-ignore lint/suspicious/noExplicitAny: as above
    amendments: ColumnType<any[], string | undefined, string>;
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
    pool: OptionalJson;
    pinned: Json;
    /** Of a replay: the phase from which everything is made anew, what was overridden (path -> value), and the try it repeats. */
    from_phase: Optional<string>;
    overrides: OptionalJson;
    base_try: Optional<number>;
    /** An earlier iteration has been replayed since. */
    stale: Generated<boolean>;
    code_version: Optional<string>;
    /** Keys of the pool's candidates, once it is full: later pools leave them out. */
    keys: OptionalJson<string[]>;
    /** Index of the last candidate whose result was read; results of later ones are surplus. */
    last_candidate: Optional<number>;
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
    /** `Evidence` (core/task.ts) of the valid task; null where there is none. */
    evidence: OptionalJson;
    /** Earlier forms of the candidate, oldest first: those that a gate refused and valid ones that were sent back or made harder. {outcome, gates, artifact}. */
    // biome-ignore lint/suspicious/noExplicitAny: as above
    repairs: ColumnType<any[] | null, string | null | undefined, string | null>;
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
    /** N: rollouts of a complete probe; null = as many as `runs`. */
    planned: Optional<number>;
    /** Estimated pass rate, which stopping early does not bias; null = passes / runs. */
    rate: Optional<number>;
    label_key: string;
    /** `Diagnosis` (core/diagnosis.ts) of a probe that was not admitted. */
    diagnosis: OptionalJson;
    decision: ProbeDecision;
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
    /** `TokenCounts` (core/spend.ts); null where it was not counted. */
    tokens: OptionalJson;
    /** `TokensByPolicy` (core/lag.ts) where not all its tokens are of `policy`; null = they are. */
    versions: OptionalJson;
    /** Key of the rollout of an earlier try that it was taken over from. */
    reused_from: Optional<string>;
    /** Hash of everything the verdict depends on. */
    verdict_key: Optional<string>;
    /** Key of the rollout whose verdict was taken over; null = it was graded itself. */
    verdict_from: Optional<string>;
    /** `Evidence` (core/task.ts) of the verdict. */
    evidence: OptionalJson;
    /** `ArtifactRef` of what the verdict was found by; null where it was not graded itself. */
    verdict_log: OptionalJson;
    created_at: Timestamp;
  };
  attempts: {
    rollout_key: string;
    attempt: number;
    fence: string;
    status: string;
    error: string | null;
    experiment: Generated<string>;
    /** The experiment's epoch when it began. */
    epoch: Generated<number>;
    /** Failure type (core/failures.ts) of a failed attempt. */
    kind: Optional<string>;
    /** The attempt whose ledger it went on from, with how many finished turns; `note` says why not where it could not. */
    resumed_from: Optional<number>;
    resumed_turns: Optional<number>;
    note: Optional<string>;
    /** What a superseded attempt came to after all: kept, and used for nothing. */
    late_result: OptionalJson;
    /** `TokenCounts` (core/spend.ts) of turns that nobody goes on from. */
    lost_tokens: OptionalJson;
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
    /** What the server answered, as the loop needs it to go on: {text, finish}. */
    reply: OptionalJson;
    /** False from the model's answer until the results of its tool calls are in `record`. */
    answered: Generated<boolean>;
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
    /** `BatchPace` (core/pace-record.ts) of an asynchronous climb; null of an exact one. */
    pace: OptionalJson;
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
    /** Of an engine kind: every artifact that its manifest names. */
    files: OptionalJson<string[]>;
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
  task_sets: {
    hash: string;
    spec: Json;
    tasks: Json<string[]>;
    last_candidate: Optional<number>;
    created_at: Timestamp;
  };
  artifacts: { sha256: string; kind: string; bytes: number; uri: string; created_at: Timestamp };
  events: { key: string; experiment: string; kind: string; detail: Json; created_at: Timestamp };
  /** Finished pieces of a try that a later try of the same iteration may take over, by content (docs/replay.md). */
  pieces: {
    experiment: string;
    kind: string;
    content_key: string;
    iteration: number;
    try: number;
    result: Json;
    /** The try it was made in, where this one took it over. */
    reused_from: Optional<number>;
    created_at: Timestamp;
  };
  /** Tasks read from files of other projects. `artifact` is the `ImportedTask` (services/formats/types.ts). */
  imports: {
    /** `i` + 16 hex digits of `hash`. */
    key: string;
    format: string;
    source_id: string;
    hash: string;
    image: string;
    fail_to_pass: number;
    pass_to_pass: number;
    gold: boolean;
    origin: Json;
    artifact: Json;
    created_at: Timestamp;
  };
  /** Verdicts of saved changes graded again, beside those on record, which stay. */
  regrades: {
    experiment: string;
    regrade: number;
    rollout_key: string;
    old_outcome: string;
    old_rule: string;
    outcome: string;
    rule: string;
    offending: Json<string[]>;
    /** `Evidence` (core/task.ts). */
    evidence: Json;
    created_at: Timestamp;
  };
  /** One row per regrade, from its beginning on; `ended_at` is null for one that was cut half way. */
  regrade_runs: {
    experiment: string;
    regrade: number;
    /** Null = every iteration, evaluations included. */
    iteration: number | null;
    code_version: string;
    /** Verdicts to look at again; null = it was not noted. */
    total: number | null;
    begun_at: Timestamp;
    ended_at: Date | null;
  };
  /** Requests to models that are paid for: reserved before they are sent, settled once their outcome is known. */
  spend: {
    key: string;
    experiment: string;
    iteration: number | null;
    try: number | null;
    phase: string;
    candidate: number | null;
    generator: string | null;
    model: string;
    /** {prompt, generated} tokens at most. */
    reserved: Json;
    /** Null where there is no price. */
    reserved_usd: number | null;
    /** `TokenCounts` (core/spend.ts); null until it is settled. */
    used: OptionalJson;
    usd: Optional<number>;
    /** Whoever reserved it: another one that asks for the same key was started after it died. */
    owner: string;
    created_at: Timestamp;
    /** Set, while `used` is null: nobody will know. */
    settled_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  };
  /** Seconds of sandboxes, added up over attempts. `work` is what they did: `SANDBOX_WORK` (core/spend.ts); `item` says for what. */
  sandbox_use: {
    experiment: string;
    iteration: number;
    try: number;
    phase: string;
    work: string;
    item: string;
    generator: string | null;
    task_id: string | null;
    seconds: number;
  };
  /** What each engine serves. */
  engine_versions: {
    url: string;
    /** What it was proven to serve, or is brought to; null = nothing. */
    policy: string | null;
    /** `EngineStatus` (core/publication.ts). */
    state: string;
    /** Of one that is out. */
    why: string | null;
    /** When its state or its policy changed. */
    since: Timestamp;
    /** What it was asked to serve last. */
    target: string;
    /** Number of that request, of the sequence `publications`: a later one is a newer one. */
    asked: number;
    /** What all its engines served last; null = nothing yet. */
    good: string | null;
    /** The worker that can give it weights: `<host>:<data folder>`. */
    keeper: string;
    /** `policy` of the experiment's settings. */
    server: Json;
  };
  /** Failed rollouts with what they failed by: shown to the author of the next iteration, never to the policy. */
  failures: {
    rollout_key: string;
    experiment: string;
    iteration: number;
    task_id: string;
    cause: string;
    evidence: string;
    created_at: Timestamp;
  };
  /** Requests over HTTP that carried an Idempotency-Key, with what was answered; `status` is null while one is in progress. */
  requests: {
    key: string;
    fingerprint: string;
    status: Optional<number>;
    response: OptionalJson;
    created_at: Timestamp;
  };
}
