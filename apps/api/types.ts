/** What the routes of the API share. */
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import type { Session } from "../control/index.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** What a token needs; read by default. */
    scope?: "read" | "write";
    /** Needs no token. */
    public?: boolean;
  }
}

export type Api = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>;

export interface ApiContext {
  readonly session: Pick<Session, "db" | "client" | "artifacts">;
  /** Aborts when the server closes. */
  readonly closing: AbortSignal;
  /** How long a stream of events stays open; the client then comes again by itself. */
  readonly streamSeconds: number;
}
