/** How an engine is given weights: the steps of a publication (core/publication.ts), each a request or two with an end. */
import type { EngineKind } from "../../../core/policy.ts";
import { PolicyError } from "../client.ts";
import { apiKey, askText } from "../http.ts";

export interface EngineDriver {
  readonly url: string;
  /** What it says it serves; null = it names nothing. Throws PolicyError, as all of these do. */
  version(signal?: AbortSignal): Promise<string | null>;
  /** Returns once no turn runs: `finish` waits for those in progress, `continue` keeps them where they are. */
  pause(signal?: AbortSignal): Promise<void>;
  /** Nothing that the old weights computed is used any more. */
  flush(signal?: AbortSignal): Promise<void>;
  /** `folder` as the engine sees it. While it loads it says to serve neither the old nor the new version. */
  load(version: string, folder: string, signal?: AbortSignal): Promise<void>;
  resume(signal?: AbortSignal): Promise<void>;
  /** One completion, by exactly that version, with finite log-probabilities. */
  canary(version: string, signal?: AbortSignal): Promise<void>;
  /** Keeps it from serving: it names no version that anyone asks for, and samples nothing. Best effort. */
  retire(): Promise<void>;
  /** sha256 of each served tensor, which may be fused of several of the checkpoint; null = it has none. */
  checksums(signal?: AbortSignal): Promise<Readonly<Record<string, string>> | null>;
}

export interface DriverOptions {
  readonly url: string;
  readonly apiKeyEnv: string | null;
  readonly onPublish: "finish" | "continue";
  readonly limits?: Partial<DriverLimits>;
}

/** Seconds. Engines do hang: no wait is without an end. */
export interface DriverLimits {
  readonly question: number;
  /** Until turns in progress ended: as long as a turn may take. */
  readonly drain: number;
  readonly flush: number;
  /** 80 GB over a network of 200 MB/s, and some. */
  readonly load: number;
  readonly canary: number;
}

export const LIMITS: DriverLimits = { question: 20, drain: 900, flush: 60, load: 600, canary: 120 };

/** Names that no policy has. */
export const loadingName = (version: string) => `loading:${version}`;
export const OUT_NAME = "out";

export type Call = (
  path: string,
  more?: {
    readonly body?: unknown;
    readonly seconds?: number;
    readonly signal?: AbortSignal | undefined;
    readonly method?: "GET" | "POST";
  },
) => Promise<unknown>;

/** `needs` = what the engine must be started with, or be, to have these routes. */
export function caller(kind: EngineKind, options: DriverOptions, limits: DriverLimits, needs: string): Call {
  const url = options.url.replace(/\/+$/, "");
  return async (path, { body, seconds = limits.question, signal, method } = {}) => {
    try {
      const text = await askText(`${url}${path}`, {
        method: method ?? (body === undefined ? "GET" : "POST"),
        body,
        seconds,
        signal,
        key: apiKey(options.apiKeyEnv),
      });
      return parsed(text);
    } catch (error) {
      if (error instanceof PolicyError && error.kind === "not-served")
        throw new PolicyError("capability", `${url}${path}: there is no such route; ${kind} needs ${needs}`, {
          cause: error,
        });
      throw error;
    }
  };
}

/** Some routes answer in plain words. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
