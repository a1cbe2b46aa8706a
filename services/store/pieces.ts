/** Finished pieces of a try by what determines them, so that a later try of the same iteration takes them over. */
import type { ArtifactRef } from "../../core/artifact.ts";
import type { Scope } from "../../core/scope.ts";
import type { ArtifactStore } from "./artifacts.ts";
import { ArtifactError } from "./errors.ts";
import { type Executor, upsert } from "./rows.ts";

/**
 * `reply`: of an author, for the next attempt of the same try; `rewrite`: a text that one wrote, which belongs to the probes of its candidate. Neither
 * is a piece that a replay counts.
 */
export type PieceKind = "candidate" | "validation" | "update" | "reply" | "rewrite";

export interface PieceKey {
  readonly kind: PieceKind;
  /** Hash of everything the piece depends on; never a try, a name of a host or a time. */
  readonly contentKey: string;
}

export interface FoundPiece<T> {
  readonly result: T;
  /** The try that made it. */
  readonly made: number;
}

/** `made`: the try that made it, where this one took it over. */
export async function recordPiece(
  db: Executor,
  scope: Scope,
  { kind, contentKey }: PieceKey,
  result: object,
  made: number | null = null,
): Promise<void> {
  const { experiment, iteration, try: attempt } = scope;
  await upsert(
    db,
    "pieces",
    { experiment, kind, content_key: contentKey, iteration, try: attempt, result, reused_from: made },
    ["experiment", "kind", "content_key", "iteration", "try"],
  );
}

/** The piece of the latest earlier try of the same iteration; undefined where none finished it. */
export async function findPiece<T extends object>(
  db: Executor,
  scope: Scope,
  { kind, contentKey }: PieceKey,
): Promise<FoundPiece<T> | undefined> {
  const row = await db
    .selectFrom("pieces")
    .select(["result", "try", "reused_from"])
    .where("experiment", "=", scope.experiment)
    .where("kind", "=", kind)
    .where("content_key", "=", contentKey)
    .where("iteration", "=", scope.iteration)
    .where("try", "<", scope.try)
    .orderBy("try", "desc")
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? undefined : { result: row.result as T, made: row.reused_from ?? row.try };
}

/** What this very try has recorded: by an attempt before. */
export async function findOwnPiece<T extends object>(
  db: Executor,
  { experiment, iteration, try: attempt }: Scope,
  { kind, contentKey }: PieceKey,
): Promise<T | undefined> {
  const row = await db
    .selectFrom("pieces")
    .select("result")
    .where("experiment", "=", experiment)
    .where("kind", "=", kind)
    .where("content_key", "=", contentKey)
    .where("iteration", "=", iteration)
    .where("try", "=", attempt)
    .executeTakeFirst();
  return row?.result as T | undefined;
}

/** Whether the content is there and undamaged: a piece whose content is not is made anew. */
export async function isWhole(artifacts: ArtifactStore, ref: ArtifactRef): Promise<boolean> {
  try {
    await artifacts.get(ref);
    return true;
  } catch (error) {
    if (error instanceof ArtifactError && (error.kind === "missing" || error.kind === "damaged"))
      return false;
    throw error;
  }
}
