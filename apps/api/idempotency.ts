/** Every POST carries an Idempotency-Key: the same request under the same key gives the same answer, whatever died in between. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { canonicalJson } from "../../core/canonical.ts";
import { type Db, sha256Of } from "../../services/store/index.ts";
import { type Answer, abandonRequest, answerRequest, claimRequest } from "../../services/store/requests.ts";
import { ApiError, problemOf } from "./problems.ts";

/** What the operation is given: its key is the request id of every control function, which are idempotent by it. */
export interface Once {
  readonly request: string;
  /** An earlier process may have done some or all of it. */
  readonly again: boolean;
}

type Result = { readonly status: number; readonly body: unknown; readonly headers?: Record<string, string> };

function fingerprint(method: string, path: string, body: unknown): string {
  return sha256Of(Buffer.from(`${method}\n${path}\n${canonicalJson(body ?? null)}`));
}

/** Runs the operation unless its answer is known. Refusals are answers too; what passes with time (5xx) is not kept. */
export async function once(
  db: Db,
  request: FastifyRequest,
  reply: FastifyReply,
  operation: (once: Once) => Promise<Result>,
): Promise<FastifyReply> {
  const key = request.headers["idempotency-key"] as string;
  const path = request.url.split("?")[0]!;
  const claim = await claimRequest(db, key, fingerprint(request.method, path, request.body));
  switch (claim.kind) {
    case "mismatch":
      throw new ApiError("key-reused", "Idempotency-Key: it was used for another request", "Idempotency-Key");
    case "in-progress":
      throw new ApiError("in-progress", "the same request is in progress", "Idempotency-Key");
    case "answered":
      return send(reply.header("idempotency-replayed", "true"), claim.answer);
    case "claimed": {
      const answer = await operation({ request: key, again: claim.again }).then(
        ({ status, body, headers = {} }): Answer => ({ status, body, headers }),
        async (error: unknown): Promise<Answer> => {
          const body = problemOf(error);
          if (body.status < 500) return { status: body.status, body, headers: {} };
          await abandonRequest(db, key).catch(() => {});
          throw error;
        },
      );
      await answerRequest(db, key, answer);
      return send(reply, answer);
    }
  }
}

function send(reply: FastifyReply, { status, body, headers }: Answer): FastifyReply {
  reply.code(status).headers(headers);
  return status < 400 ? reply.send(body) : reply.type("application/problem+json").send(JSON.stringify(body));
}
