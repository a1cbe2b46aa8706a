/** Finished pieces of a try by what determines them, so that a later try of the same iteration takes them over. */
import type { Scope } from "../../core/scope.ts";
import { type Executor, upsert } from "./rows.ts";

export type PieceKind = "candidates" | "validation" | "update" | "evaluation";

export interface PieceKey {
  readonly kind: PieceKind;
  /** Hash of everything the piece depends on; never a try, a name of a host or a time. */
  readonly contentKey: string;
}

export async function recordPiece(
  db: Executor,
  scope: Scope,
  { kind, contentKey }: PieceKey,
  result: object,
): Promise<void> {
  const { experiment, iteration, try: attempt } = scope;
  await upsert(db, "pieces", { experiment, kind, content_key: contentKey, iteration, try: attempt, result }, [
    "experiment",
    "kind",
    "content_key",
    "iteration",
    "try",
  ]);
}

/** The result of the latest earlier try of the same iteration; undefined where none finished that piece. */
export async function findPiece<T extends object>(
  db: Executor,
  scope: Scope,
  { kind, contentKey }: PieceKey,
): Promise<T | undefined> {
  const row = await db
    .selectFrom("pieces")
    .select("result")
    .where("experiment", "=", scope.experiment)
    .where("kind", "=", kind)
    .where("content_key", "=", contentKey)
    .where("iteration", "=", scope.iteration)
    .where("try", "<", scope.try)
    .orderBy("try", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.result as T | undefined;
}
