/** Records of experiments, iterations and task sets: what people watch and what later work is found by. */
import type { ArtifactRef } from "../core/artifact.ts";
import { scopeKey } from "../core/scope.ts";
import {
  findTaskSet as findSet,
  getJson,
  getPolicy,
  hashJson,
  listTries,
  putJson,
  recordEvent,
  recordIteration as recordIterationRow,
  recordReuse,
  recordTaskSet,
  setResult,
  setStatus,
} from "../services/store/index.ts";
import { runtimeOfExperiment } from "./runtime.ts";
import type { RecordServices } from "./services.ts";
import type {
  Activities,
  ExperimentStatusInput,
  IterationOnRecord,
  IterationRecordInput,
  TaskSetSpec,
} from "./types.ts";

export async function recordExperiment(
  services: RecordServices,
  input: ExperimentStatusInput,
): Promise<void> {
  const { experiment, status, phase, error, policy } = input;
  if (status === "running") await setStatus(services.db, experiment, status);
  else
    await setResult(services.db, experiment, status, {
      ...(error === undefined ? {} : { error }),
      ...(policy === undefined ? {} : { policy }),
    });
  await recordEvent(services.db, {
    key: `${experiment}/${phase ?? status}`,
    experiment,
    kind: "phase",
    detail: { iteration: 0, phase: phase ?? status, ...(error === undefined ? {} : { error }) },
  });
}

export async function recordIteration(services: RecordServices, input: IterationRecordInput): Promise<void> {
  const { experiment, iteration } = input.scope;
  await recordIterationRow(services.db, {
    experiment,
    iteration,
    try: input.scope.try,
    status: input.status,
    start_policy: input.startPolicy,
    end_policy: input.endPolicy,
    ...(input.pool === undefined ? {} : { pool: input.pool }),
    pinned: input.pinned as object,
    ...(input.keys === undefined ? {} : { keys: [...input.keys] }),
    ...(input.lastCandidate === undefined ? {} : { last_candidate: input.lastCandidate }),
  });
  if (input.status === "finished" && input.scope.try > 1) await recordReuse(services.db, input.scope);
  await recordEvent(services.db, {
    key: `${scopeKey(input.scope)}/${input.status}`,
    experiment,
    kind: "phase",
    detail: {
      iteration,
      try: input.scope.try,
      phase: input.status,
      ...(input.error === undefined ? {} : { error: input.error }),
    },
  });
}

export async function findIteration(
  { db }: RecordServices,
  { experiment, iteration }: { readonly experiment: string; readonly iteration: number },
): Promise<IterationOnRecord | null> {
  const row = (await listTries(db, experiment, iteration)).at(-1);
  if (row === undefined) return null;
  const { stale } = row;
  if (row.status !== "finished" || row.end_policy === null || row.keys === null)
    return { try: row.try, stale, finished: null, pinned: row.pinned as object };
  const { kind: _, ...policy } = await getPolicy(db, row.end_policy);
  return { try: row.try, stale, finished: { policy, keys: row.keys as string[] }, pinned: null };
}

export async function noteUsed(
  { artifacts }: RecordServices,
  { before, keys }: Parameters<Activities["noteUsed"]>[0],
): Promise<ArtifactRef> {
  const used = before === null ? [] : await getJson<string[]>(artifacts, before);
  return putJson(artifacts, [...used, ...keys], "keys");
}

/**
 * The name of a set says nothing about its tasks, so it is no part of the hash. The sandboxes that its tasks were validated in are: a test may
 * fail in the one system and pass in the other.
 */
export async function findTaskSet(
  services: RecordServices,
  input: { readonly spec: TaskSetSpec; readonly name: string },
): ReturnType<Activities["findTaskSet"]> {
  const runtime = await runtimeOfExperiment(services.db);
  const hash = hashJson(runtime === "process" ? input.spec : { ...input.spec, runtime }).slice(0, 16);
  const row = await findSet(services.db, hash);
  if (row === undefined) return { hash, found: null };
  const { keys } = row.spec as { keys: string[] };
  return { hash, found: { name: input.name, hash, tasks: row.tasks, keys } };
}

export async function saveTaskSet(
  services: RecordServices,
  input: Parameters<Activities["saveTaskSet"]>[0],
): Promise<void> {
  const { hash, tasks, keys } = input.set;
  await recordTaskSet(services.db, {
    hash,
    spec: { spec: input.spec, keys },
    tasks,
    lastCandidate: input.lastCandidate,
  });
}
