/** What a slime job has trained, by Megatron's own marker: the exit code says nothing, and its weight version begins anew with each process. */

/** Content of `latest_checkpointed_iteration.txt`; null where there is none, or none of an update. Megatron writes `release` for weights that no step made. */
export function trainedThrough(text: string | null): number | null {
  const found = /^(\d+)\s*$/.exec(text ?? "");
  return found === null ? null : Number(found[1]);
}

/** `retrain`: a job that died between training and saving makes the update again, from the same batch. */
export type Acknowledged = "done" | "retrain";

/** `before` and `after`: the marker at the job's start and now. */
export function acknowledge(update: number, before: number | null, after: number | null): Acknowledged {
  return after !== null && after >= update && (before ?? -1) < update ? "done" : "retrain";
}
