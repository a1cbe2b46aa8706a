/** Where two tries part: their inputs, then what they came to, in the order in which one follows from another (docs/replay.md). */
import type { ArtifactRef } from "../../core/artifact.ts";
import { canonicalJson } from "../../core/canonical.ts";
import type { Scope } from "../../core/scope.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import {
  type ArtifactStore,
  type Db,
  differingPaths,
  getExperiment,
  getJson,
  type IterationRow,
  listTries,
  readTry,
  type TryRecord,
} from "../../services/store/index.ts";
import type { RunIterationInput } from "../../workflows/runIteration.ts";
import { ReplayError } from "./replay-plan.ts";

export interface Part {
  /** `settings`, `candidates`, `rollouts`, … */
  readonly part: string;
  readonly same: boolean;
  /** First difference, in a few words; null where there is none. */
  readonly difference: string | null;
  /** False for what a try was run by, not made from: a difference there alone parts no tries. */
  readonly parts: boolean;
}

export interface TryDiff {
  readonly same: boolean;
  /** In order: the first that parts them and is not the same is where the tries part. */
  readonly parts: readonly Part[];
}

/** Throws StoreError or ReplayError `missing`. */
export async function diffTries(
  { db, artifacts }: { readonly db: Db; readonly artifacts: ArtifactStore },
  a: Scope,
  b: Scope,
): Promise<TryDiff> {
  const [left, right] = await Promise.all([load(db, a), load(db, b)]);
  const parts: Part[] = [
    part("settings", pathsOf(left.pinned.settings, right.pinned.settings)),
    value("environments", left.pinned.environments, right.pinned.environments),
    value("start policy", left.row.start_policy, right.row.start_policy),
    value("candidates left out", left.pinned.exclude, right.pinned.exclude),
    { ...value("code version", left.codeVersion, right.codeVersion), parts: false },
    entries("candidates", left.record.candidates, right.record.candidates),
    entries("validations", left.record.validations, right.record.validations),
    entries("probes", left.record.probes, right.record.probes),
    value("pool", { keys: left.row.keys, ...left.row.pool }, { keys: right.row.keys, ...right.row.pool }),
    await rollouts(artifacts, left.record, right.record),
    entries("groups", left.record.groups, right.record.groups),
    entries("batches", left.record.batches, right.record.batches),
    entries("updates", left.record.updates, right.record.updates),
    value("end policy", left.row.end_policy, right.row.end_policy),
  ];
  return { same: parts.every((one) => one.same || !one.parts), parts };
}

interface Loaded {
  readonly row: IterationRow;
  readonly pinned: RunIterationInput;
  readonly codeVersion: string;
  readonly record: TryRecord;
}

async function load(db: Db, scope: Scope): Promise<Loaded> {
  const experiment = await getExperiment(db, scope.experiment);
  const tries = await listTries(db, scope.experiment);
  const row = tries.find((one) => one.iteration === scope.iteration && one.try === scope.try);
  if (row === undefined) {
    const known = tries.map((one) => `${one.experiment}/${one.iteration}/${one.try}`).join(", ");
    throw new ReplayError(
      "missing",
      `no try ${scope.experiment}/${scope.iteration}/${scope.try} is recorded: ${known === "" ? "the experiment has none yet" : `there is ${known}`}`,
    );
  }
  return {
    row,
    pinned: row.pinned as RunIterationInput,
    codeVersion: row.code_version ?? experiment.code_version,
    record: await readTry(db, scope),
  };
}

const part = (name: string, difference: string | null): Part => ({
  part: name,
  same: difference === null,
  difference,
  parts: true,
});

function pathsOf(left: unknown, right: unknown): string | null {
  const paths = differingPaths(left, right).map((path) => path.join("."));
  return paths.length === 0 ? null : paths.join(", ");
}

function short(found: unknown): string {
  const text = typeof found === "string" ? found : canonicalJson(found ?? null);
  return text.length <= 80 ? text : `${text.slice(0, 77)}…`;
}

function value(name: string, left: unknown, right: unknown): Part {
  const same = canonicalJson(left ?? null) === canonicalJson(right ?? null);
  return part(name, same ? null : `${short(left)} against ${short(right)}`);
}

/** First key by which two maps differ, in the order of the first map, then of the second. */
function firstDifference(
  left: ReadonlyMap<string, string>,
  right: ReadonlyMap<string, string>,
): { readonly key: string; readonly differing: number } | null {
  const differing = [...new Set([...left.keys(), ...right.keys()])].filter(
    (key) => left.get(key) !== right.get(key),
  );
  return differing.length === 0 ? null : { key: differing[0]!, differing: differing.length };
}

function where(left: ReadonlyMap<string, string>, right: ReadonlyMap<string, string>, key: string): string {
  if (!left.has(key)) return `${key} is in the second alone`;
  if (!right.has(key)) return `${key} is in the first alone`;
  return `${key}: ${short(left.get(key))} against ${short(right.get(key))}`;
}

function entries(name: string, left: ReadonlyMap<string, string>, right: ReadonlyMap<string, string>): Part {
  const first = firstDifference(left, right);
  if (first === null) return part(name, null);
  return part(name, `${first.differing} differ; ${where(left, right, first.key)}`);
}

/** Of the first rollout that differs in what was said and done, the first turn in which it does. */
async function rollouts(artifacts: ArtifactStore, left: TryRecord, right: TryRecord): Promise<Part> {
  const first = firstDifference(left.rollouts, right.rollouts);
  if (first === null) return part("rollouts", null);
  const { key, differing } = first;
  const refs = [left.trajectories.get(key), right.trajectories.get(key)] as const;
  const [a, b] = refs;
  let detail = where(left.rollouts, right.rollouts, key);
  if (a !== undefined && b !== undefined && a.sha256 !== b.sha256) {
    const turn = firstDifferingTurn(await trajectory(artifacts, a), await trajectory(artifacts, b));
    detail = turn === null ? `${key}: same turns, other tokens` : `${key}: turn ${turn + 1} differs`;
  }
  return part("rollouts", `${differing} differ; ${detail}`);
}

const trajectory = (artifacts: ArtifactStore, ref: ArtifactRef): Promise<Trajectory> =>
  getJson<Trajectory>(artifacts, ref);

/** 0-based; null where all turns are the same. */
function firstDifferingTurn(a: Trajectory, b: Trajectory): number | null {
  const turns = Math.max(a.turns.length, b.turns.length);
  for (let turn = 0; turn < turns; turn++)
    if (canonicalJson(a.turns[turn] ?? null) !== canonicalJson(b.turns[turn] ?? null)) return turn;
  return null;
}
