/** A piece of a try: taken over from an earlier try where that may be, else made; recorded either way (docs/replay.md). */
import { mayReuse, type ReplayPhase, type Reuse } from "../core/reuse.ts";
import type { Scope } from "../core/scope.ts";
import { findPiece, hashJson, type PieceKind, recordPiece } from "../services/store/index.ts";
import type { RecordServices } from "./services.ts";

export interface PieceOf {
  readonly kind: PieceKind;
  readonly phase: ReplayPhase;
  /** Undefined = of no try: made, and not kept as a piece. */
  readonly scope: Scope | undefined;
  readonly reuse: Reuse | null | undefined;
  /** What this try made before is taken over, too: of a model, which answers otherwise when it is asked again. */
  readonly own?: boolean;
  /** Everything the piece depends on, as JSON; never a try, a host or a time. */
  readonly content: object;
}

/** `whole` says whether what the found piece names is still there; a piece that is not whole is made anew. */
export async function pieceOf<T extends object>(
  { db }: RecordServices,
  of: PieceOf,
  whole: (found: T) => Promise<boolean>,
  make: () => Promise<T>,
): Promise<T> {
  if (of.scope === undefined) return make();
  const key = { kind: of.kind, contentKey: hashJson(of.content) };
  const upTo = of.own ? { ...of.scope, try: of.scope.try + 1 } : of.scope;
  const mayTake = mayReuse(of.reuse, of.phase);
  const found = mayTake || of.own ? await findPiece<T>(db, upTo, key) : undefined;
  const isOwn = found?.made === of.scope.try;
  if (found !== undefined && (mayTake || isOwn) && (await whole(found.result))) {
    if (!isOwn) await recordPiece(db, of.scope, key, found.result, found.made);
    return found.result;
  }
  const made = await make();
  await recordPiece(db, of.scope, key, made);
  return made;
}
