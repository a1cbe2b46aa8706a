/** What the author of a pool's tasks is given: its settings, the books, what earlier iterations failed by, and its own replies. */
import { type Scope, scopeKey } from "../core/scope.ts";
import type { SpendBooks } from "../core/spend.ts";
import type { AuthorSettings } from "../core/synthesis.ts";
import type { GeneratorName } from "../core/task.ts";
import { findOwnPiece, hashJson, recentFailures, recordPiece, spendBooks } from "../services/store/index.ts";
import type { AuthorBrief, AuthorReplies, Brief, FailureNote } from "../services/synthesis/index.ts";
import type { RecordServices } from "./services.ts";
import type { SynthesiseInput } from "./types.ts";

/** Nothing where no author is shown any. */
export async function failuresFor(
  { db }: RecordServices,
  { author, scope, failuresShown = 0 }: SynthesiseInput,
): Promise<readonly FailureNote[]> {
  if (author === undefined || scope === undefined || failuresShown === 0) return [];
  return recentFailures(db, scope.experiment, scope.iteration, failuresShown);
}

/** What generators are told for the candidate `index`, or for its repair of number `round`. */
export function briefOf(
  services: RecordServices,
  { functions, heldOutShare, types, history, ...input }: SynthesiseInput,
  index: number,
  given: { readonly failures: readonly FailureNote[]; readonly round?: number; readonly signal: AbortSignal },
): Brief {
  const author = authorBrief(services, input, index, given);
  return {
    functions,
    heldOutShare,
    ...(types && { types }),
    ...(history && { history }),
    ...(author && { author }),
    signal: given.signal,
  };
}

function authorBrief(
  { db }: RecordServices,
  { author, scope }: Pick<SynthesiseInput, "author" | "scope">,
  index: number,
  { failures, round = 0 }: { readonly failures: readonly FailureNote[]; readonly round?: number },
): AuthorBrief | undefined {
  if (author === undefined || scope === undefined) return undefined;
  const key = `${scopeKey(scope)}/author/${index}${round === 0 ? "" : `/repair/${round}`}`;
  const replies = repliesOf(db, scope, author);
  return { settings: author, books: booksOf(db, scope, index, "llm"), key, failures, replies };
}

/** Of one candidate of a try's pool. */
export function booksOf(
  db: RecordServices["db"],
  { experiment, iteration, try: attempt }: Scope,
  candidate: number,
  generator: GeneratorName,
): SpendBooks {
  return spendBooks(db, { experiment, iteration, try: attempt, candidate, generator });
}

/** Replies of one try: an attempt that goes on after another finds them. */
export function repliesOf(db: RecordServices["db"], scope: Scope, author: AuthorSettings): AuthorReplies {
  const pieceKey = (request: string) => ({ kind: "reply", contentKey: hashJson([author, request]) }) as const;
  return {
    find: (request) => findOwnPiece(db, scope, pieceKey(request)),
    keep: (request, reply) => recordPiece(db, scope, pieceKey(request), reply),
  };
}
