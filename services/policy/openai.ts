/** PolicyClient over any OpenAI-compatible server: `/v1/completions`, token ids in and out. */
import OpenAI from "openai";
import {
  type Capabilities,
  type Completion,
  type CompletionTurn,
  type PolicyClient,
  PolicyError,
} from "./client.ts";
import { completionsBody } from "./completions-body.ts";
import { apiKey, kindOfStatus } from "./http.ts";
import { capabilitiesOf, completionOf, PROBE, saidBy } from "./reply.ts";

export interface OpenAIClientOptions {
  /** With or without `/v1`. */
  readonly baseUrl: string;
  /** NAME of the environment variable that holds the key; null = the server needs none. */
  readonly apiKeyEnv?: string | null;
  /** Model name of the requests; null = the policy's id, for servers that serve policies by id. */
  readonly model?: string | null;
  /** Of one completion. */
  readonly timeoutSeconds?: number;
}

/** 8,192 tokens at 20 per second, twice over. Engines do hang: no wait is without an end. */
const DEFAULT_TIMEOUT_SECONDS = 900;
const PROBE_TIMEOUT_SECONDS = 60;

function withV1(baseUrl: string): string {
  const root = baseUrl.replace(/\/+$/, "");
  return root.endsWith("/v1") ? root : `${root}/v1`;
}

function policyError(error: unknown, where: string): PolicyError {
  if (error instanceof PolicyError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const say = (kind: PolicyError["kind"], what: string) =>
    new PolicyError(kind, `${where}: ${what}`, { cause: error });
  if (error instanceof OpenAI.APIUserAbortError) return say("aborted", "the caller gave up");
  if (error instanceof OpenAI.APIConnectionTimeoutError) return say("unreachable", "no reply in time");
  if (error instanceof OpenAI.APIConnectionError) return say("unreachable", message);
  if (error instanceof OpenAI.APIError && error.status !== undefined)
    return say(kindOfStatus(error.status, `${error.code ?? ""} ${message}`), message);
  // fetch fails with a TypeError when the connection breaks within the body, a SyntaxError comes of a broken one.
  return say(error instanceof TypeError ? "unreachable" : "protocol", message);
}

/** Requests are never repeated here: retries are decided in one place, by whoever schedules the rollout. */
export function createOpenAIClient(options: OpenAIClientOptions): PolicyClient {
  const where = withV1(options.baseUrl);
  const timeoutSeconds = options.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS;
  let api: OpenAI | undefined;
  const connect = () => {
    api ??= new OpenAI({
      baseURL: where,
      apiKey: apiKey(options.apiKeyEnv ?? null) ?? "none",
      maxRetries: 0,
    });
    return api;
  };

  const request = async (turn: CompletionTurn, model: string, seconds: number) => {
    const body = { model, ...completionsBody(turn), logprobs: 1 };
    // The library's own limit ends with the headers; this one covers the body too.
    const limit = AbortSignal.timeout(seconds * 1000);
    const signal = turn.signal ? AbortSignal.any([turn.signal, limit]) : limit;
    try {
      return await connect().completions.create(body, { signal, timeout: seconds * 1000 });
    } catch (error) {
      if (limit.aborted && !turn.signal?.aborted)
        throw new PolicyError("unreachable", `${where}: no reply in ${seconds} s`, { cause: error });
      throw policyError(error, where);
    }
  };

  const probe = async (): Promise<Capabilities> => {
    const model = options.model ?? (await firstModel(connect(), where));
    const turn = { ...PROBE, policy: model };
    const replies = [];
    for (let i = 0; i < 2; i++) replies.push(saidBy(await request(turn, model, PROBE_TIMEOUT_SECONDS)));
    return capabilitiesOf(replies[0]!, replies[1]!);
  };

  let capabilities: Promise<Capabilities> | undefined;
  return {
    capabilities: () => {
      capabilities ??= probe().catch((error: unknown) => {
        // A server that was away is asked again.
        capabilities = undefined;
        throw error;
      });
      return capabilities;
    },
    complete: async (turn): Promise<Completion> => {
      const reply = await request(turn, options.model ?? turn.policy, timeoutSeconds);
      return completionOf(saidBy(reply), turn, turn.policy);
    },
  };
}

async function firstModel(api: OpenAI, where: string): Promise<string> {
  try {
    const models = await api.models.list({ timeout: PROBE_TIMEOUT_SECONDS * 1000 });
    const id = models.data[0]?.id;
    if (id === undefined) throw new PolicyError("not-served", `${where}: the server serves no model`);
    return id;
  } catch (error) {
    throw policyError(error, where);
  }
}
