/** What a rollout leaves in the record: written turn by turn, sealed and graded by the store's own functions, then counted in Postgres. */
import { join } from "node:path";
import { sql } from "kysely";
import { random } from "../core/random.ts";
import { scopeKey } from "../core/scope.ts";
import type { Trajectory, TurnRecord } from "../core/trajectory.ts";
import {
  type ArtifactStore,
  appendTurn,
  completeTurn,
  createLocalArtifacts,
  type Db,
  openAttempt,
  openDatabase,
  putJson,
  recordEvent,
  recordedArtifacts,
  recordGroup,
  sealRollout,
  setVerdict,
  sha256Of,
} from "../services/store/index.ts";
import { mapWindow } from "../workflows/window.ts";
import { type BenchContext, temporaryFolder } from "./bench.ts";

const SEED = 1;
const GROUP_SIZE = 8;
/** As the embedded policy's rollouts have them: short turns, each with one command. */
const TURNS = 8;
const WRITERS = 4;

export interface RecordUse {
  readonly rollouts: number;
  readonly rows: number;
  /** Of tables and indexes, after a vacuum. */
  readonly bytes: number;
  /** Of the trajectories as JSON, which are artifacts beside the database. */
  readonly trajectoryBytes: number;
}

/** `groups` × 8 rollouts into an empty database. */
export async function measureRecord(
  context: BenchContext,
  databaseUrl: string,
  groups: number,
): Promise<RecordUse> {
  const db = await openDatabase(databaseUrl, { poolSize: WRITERS });
  try {
    const folder = await temporaryFolder(context);
    const artifacts = recordedArtifacts(await createLocalArtifacts(join(folder, "artifacts")), db);
    const before = await size(db);
    const written = await mapWindow([...Array(groups).keys()], WRITERS, (index) =>
      writeGroup(db, artifacts, index),
    );
    const after = await size(db);
    return {
      rollouts: groups * GROUP_SIZE,
      rows: after.rows - before.rows,
      bytes: after.bytes - before.bytes,
      trajectoryBytes: written.reduce((sum, bytes) => sum + bytes, 0),
    };
  } finally {
    await db.destroy();
  }
}

/** Live rows and bytes of all tables. */
async function size(db: Db): Promise<{ readonly rows: number; readonly bytes: number }> {
  // Space of the ledger's deleted rows is used again: it is no growth.
  await sql`vacuum (full, analyze)`.execute(db);
  const { rows } = await sql<{ rows: number; bytes: number }>`
    select coalesce(sum(reltuples) filter (where relkind = 'r'), 0)::bigint as rows,
      coalesce(sum(pg_total_relation_size(oid)) filter (where relkind = 'r'), 0)::bigint as bytes
    from pg_class where relnamespace = 'public'::regnamespace`.execute(db);
  return rows[0]!;
}

/** Bytes of its trajectories. */
async function writeGroup(db: Db, artifacts: ArtifactStore, index: number): Promise<number> {
  const scope = { experiment: "scale", iteration: 1, try: 1 };
  const key = `${scopeKey(scope)}/climb/${1 + Math.floor(index / 16)}/${index % 16}`;
  const taskId = `t${sha256Of(Buffer.from(key)).slice(0, 16)}`;
  const policy = `nano-${sha256Of(Buffer.from("policy")).slice(0, 16)}`;
  let bytes = 0;
  for (let member = 0; member < GROUP_SIZE; member++)
    bytes += await writeRollout(db, artifacts, { key, member, taskId, policy });
  await recordGroup(db, {
    ...scope,
    ...{ key, phase: "climb", task_id: taskId, level: 2, policy, size: GROUP_SIZE },
    ...{ passes: GROUP_SIZE / 2, mean_reward: 0.5, zero_variance: false },
  });
  await recordEvent(db, {
    key: `${key}/collected`,
    experiment: scope.experiment,
    kind: "phase",
    detail: { iteration: 1, phase: "climb" },
  });
  return bytes;
}

async function writeRollout(
  db: Db,
  artifacts: ArtifactStore,
  group: { readonly key: string; readonly member: number; readonly taskId: string; readonly policy: string },
): Promise<number> {
  const { member, taskId, policy } = group;
  const key = `${group.key}/${member}`;
  const trajectory = trajectoryOf(key, policy);
  const { fence } = await openAttempt(db, { rolloutKey: key, experiment: "scale", epoch: 0 });
  const [segment] = trajectory.segments;
  let from = 0;
  for (const record of trajectory.turns) {
    const prompt = from + record.promptTokens;
    const end = prompt + record.completionTokens;
    const reply = {
      text: "",
      finish: "stop" as const,
      treeBefore: "0".repeat(64),
      namesBefore: "0".repeat(64),
      modelSeconds: 0.5,
      toolSeconds: 1,
    };
    const turn = {
      record: { ...record, results: [] },
      promptTokens: segment!.tokens.slice(from, prompt),
      sampledTokens: segment!.tokens.slice(prompt, end),
      logProbs: segment!.logProbs.slice(prompt, end),
      ...{ weightVersion: policy, newSegment: record.turn === 0, reply, answered: false },
    };
    await appendTurn(db, fence, turn);
    await completeTurn(db, fence, { ...turn, record, answered: true });
    from = end;
  }
  const reference = await putJson(artifacts, trajectory, "trajectory");
  await sealRollout(db, fence, {
    ...{ key, group_key: group.key, member, task_id: taskId, level: 2, policy },
    ...{ content_key: sha256Of(Buffer.from(key)), tree_hash: sha256Of(Buffer.from(`tree of ${key}`)) },
    ...{
      exit: trajectory.exit,
      truncated: false,
      turns: TURNS,
      generated_tokens: trajectory.generatedTokens,
    },
    ...{ outcome: null, rule: null, raw_reward: null, reward: null, tools: { Bash: TURNS - 1 } },
    ...{ model_seconds: 4.25, tool_seconds: 8.5, trajectory: reference },
    change: [{ kind: "write", path: "lib/module.js", content: words(key, 250), encoding: "utf8" }],
  });
  const passed = member % 2 === 0;
  await setVerdict(db, key, {
    outcome: passed ? "passed" : "failed",
    rule: passed ? "all-passed" : "fail-to-pass-failed",
    rawReward: passed ? 1 : 0,
    reward: passed ? 1 : 0,
    verdictKey: sha256Of(Buffer.from(`verdict of ${key}`)),
  });
  return reference.bytes;
}

/** Each turn reads what the last command printed and writes the next; the last one only says that it is done. */
function trajectoryOf(key: string, policy: string): Trajectory {
  const stream = random(SEED, key);
  const tokens: number[] = [];
  const trainable: (0 | 1)[] = [];
  const logProbs: number[] = [];
  const add = (count: number, sampled: boolean) => {
    for (let i = 0; i < count; i++) {
      tokens.push(stream.integer(300));
      trainable.push(sampled ? 1 : 0);
      logProbs.push(sampled ? -stream.next() : 0);
    }
  };
  const turns = Array.from({ length: TURNS }, (_, turn): TurnRecord => {
    const last = turn === TURNS - 1;
    const promptTokens = turn === 0 ? 1200 : 300;
    const completionTokens = 40;
    add(promptTokens, false);
    add(completionTokens, true);
    const command = { command: words(`${key} ${turn}`, 8) };
    return {
      turn,
      promptTokens,
      completionTokens,
      toolCalls: last ? [] : [{ id: `call-${turn}-0`, name: "Bash", arguments: JSON.stringify(command) }],
      results: last ? [] : [`Exit code: 0\nSTDOUT:\n${words(`${key} ${turn} out`, 50)}`],
      treeHash: turn % 3 === 0 ? sha256Of(Buffer.from(`${key} ${turn}`)) : null,
    };
  });
  return {
    segments: [{ tokens, trainable, logProbs }],
    turns,
    messages: [
      { role: "system", content: words("system", 100) },
      { role: "user", content: words(`${key} statement`, 80) },
      ...turns.flatMap(({ toolCalls, results }) => [
        { role: "assistant" as const, content: null, toolCalls },
        ...results.map((content) => ({ role: "tool" as const, toolCallId: toolCalls[0]!.id, content })),
      ]),
    ],
    weightVersion: policy,
    exit: "agent",
    generatedTokens: 40 * TURNS,
  };
}

const LETTERS = "etaoinshrdlucmfwypvbgk";

/** Text that compresses about as well as text does. */
function words(key: string, count: number): string {
  const stream = random(SEED, "words", key);
  const word = () =>
    Array.from({ length: 2 + stream.integer(7) }, () => LETTERS[stream.integer(LETTERS.length)]).join("");
  return Array.from({ length: count }, word).join(" ");
}
