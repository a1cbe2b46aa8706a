/** Bearer tokens: read from named environment variables, compared in constant time, with the scopes read and write. */
import { createHash, timingSafeEqual } from "node:crypto";
import { ApiError } from "./problems.ts";

export type Scope = "read" | "write";

interface Token {
  readonly hash: Buffer;
  /** Milliseconds since 1970; null = it does not expire. */
  readonly expires: number | null;
  readonly scopes: readonly Scope[];
}

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();

/** `<token>` or `<token>;expires=<ISO time>`. Throws ApiError `settings` that names the variable, never its value. */
export function readToken(
  variable: string,
  scopes: readonly Scope[],
  environment: NodeJS.ProcessEnv = process.env,
): Token {
  const [text = "", ...rest] = (environment[variable] ?? "").trim().split(";");
  if (!/^[A-Za-z0-9._~+/=-]{16,512}$/.test(text))
    throw new ApiError(
      "settings",
      `${variable}: expected a token of 16 to 512 letters, digits and ._~+/=- (openssl rand -hex 32 makes one)`,
    );
  if (rest.length === 0) return { hash: sha256(text), expires: null, scopes };
  const time = /^\s*expires=(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d))\s*$/.exec(rest.join(";"))?.[1];
  const expires = Date.parse(time ?? "");
  if (Number.isNaN(expires))
    throw new ApiError(
      "settings",
      `${variable}: expected <token>;expires=<ISO time with its zone>, as in 2027-01-01T00:00:00Z`,
    );
  return { hash: sha256(text), expires, scopes };
}

/** Null when `authorization` may do what needs `scope`. Every token is compared, whichever fits. */
export function refusal(
  tokens: readonly Token[],
  authorization: string | undefined,
  scope: Scope,
  now: number,
): ApiError | null {
  if (tokens.length === 0) return null;
  const given = /^Bearer +([^\s]+)$/i.exec(authorization ?? "")?.[1];
  if (given === undefined)
    return new ApiError("unauthenticated", "expected the header Authorization: Bearer <token>");
  const hash = sha256(given);
  const fitting = tokens.filter((token) => timingSafeEqual(token.hash, hash));
  if (fitting.length === 0) return new ApiError("unauthenticated", "unknown token");
  const valid = fitting.filter(({ expires }) => expires === null || now < expires);
  if (valid.length === 0) return new ApiError("unauthenticated", "expired token");
  if (valid.some(({ scopes }) => scopes.includes(scope))) return null;
  return new ApiError("forbidden", `this token has no ${scope} scope`);
}

export type { Token };

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\]|::1)$/;

export const isLoopback = (host: string): boolean => LOOPBACK.test(host);

/**
 * Without tokens a browser must not be led here: a page of another site (`Origin`), or a foreign name that resolves to this machine
 * (`Host`). Null when the request may pass.
 */
export function foreign(host: string | undefined, origin: string | undefined): ApiError | null {
  if (!isLoopback((host ?? "").replace(/:\d+$/, "")))
    return new ApiError("foreign", "Host: expected localhost or a loopback address");
  if (origin !== undefined && !(URL.canParse(origin) && isLoopback(new URL(origin).hostname)))
    return new ApiError("foreign", "Origin: expected a page of this machine");
  return null;
}
