/**
 * Requests that carry a key of their caller's, with what was answered, so that the same request again gives the same answer. A row without a
 * status is a request in progress, or one whose process died in the middle: after a while it may be done again by whoever asks. Garbage collection
 * removes old ones (gc-rows.ts).
 */
import { sql } from "kysely";
import type { Executor } from "./rows.ts";

/** Longer than any request takes that is still worked on. */
const STALE = "60 seconds";

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

export type Claim =
  /** `again`: an earlier process may have done some or all of it. */
  | { readonly kind: "claimed"; readonly again: boolean }
  | { readonly kind: "answered"; readonly answer: Answer }
  | { readonly kind: "in-progress" }
  /** The key was used for another request. */
  | { readonly kind: "mismatch" };

/** Claims the key for a request; `fingerprint` tells requests apart. Of several at once one gets it. */
export async function claimRequest(db: Executor, key: string, fingerprint: string): Promise<Claim> {
  const created = await db
    .insertInto("requests")
    .values({ key, fingerprint })
    .onConflict((conflict) => conflict.column("key").doNothing())
    .returning("key")
    .executeTakeFirst();
  if (created) return { kind: "claimed", again: false };
  const row = await db
    .selectFrom("requests")
    .select(["fingerprint", "status", "response"])
    .where("key", "=", key)
    .executeTakeFirst();
  // Given up between the two statements.
  if (row === undefined) return { kind: "in-progress" };
  if (row.fingerprint !== fingerprint) return { kind: "mismatch" };
  if (row.status !== null) {
    const { body, headers } = row.response as Pick<Answer, "body" | "headers">;
    return { kind: "answered", answer: { status: row.status, body, headers } };
  }
  const taken = await db
    .updateTable("requests")
    .set({ created_at: sql`now()` } as never)
    .where("key", "=", key)
    .where("status", "is", null)
    .where(sql<boolean>`created_at < now() - ${STALE}::interval`)
    .executeTakeFirst();
  return taken.numUpdatedRows > 0n ? { kind: "claimed", again: true } : { kind: "in-progress" };
}

/** The first answer stays. */
export async function answerRequest(db: Executor, key: string, answer: Answer): Promise<void> {
  await db
    .updateTable("requests")
    .set({
      status: answer.status,
      response: JSON.stringify({ body: answer.body, headers: answer.headers }),
    })
    .where("key", "=", key)
    .where("status", "is", null)
    .execute();
}

/** Of a request that came to nothing: the same key may try again. */
export async function abandonRequest(db: Executor, key: string): Promise<void> {
  await db.deleteFrom("requests").where("key", "=", key).where("status", "is", null).execute();
}
