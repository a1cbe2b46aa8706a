/** PolicyClient over any OpenAI-compatible server: `/v1/completions`, token ids in and out. */
import OpenAI from "openai";
import {
  type Capabilities,
  type Completion,
  type CompletionTurn,
  type PolicyClient,
  PolicyError,
} from "./client.ts";
import { readCompletion, replyFacts } from "./reply.ts";

export interface OpenAIClientOptions {
  /** With or without `/v1`. */
  readonly baseUrl: string;
  /** NAME of the environment variable that holds the key; null = the server needs none. */
  readonly apiKeyEnv?: string | null;
  /** Model name of the requests; null = the policy's id, for servers that serve policies by id. */
  readonly model?: string | null;
  /** Of one completion. */
  readonly timeoutSeconds?: number;
  /** Prompt of the capability probe. */
  readonly probePrompt?: readonly number[];
}

/** 8,192 tokens at 20 per second, twice over. Engines do hang: no wait is without an end. */
const DEFAULT_TIMEOUT_SECONDS = 900;
const PROBE_TIMEOUT_SECONDS = 60;

function withV1(baseUrl: string): string {
  const root = baseUrl.replace(/\/+$/, "");
  return root.endsWith("/v1") ? root : `${root}/v1`;
}

function apiKey(name: string | null): string {
  if (name === null) return "none";
  const value = process.env[name];
  if (!value)
    throw new PolicyError("capability", `policy.apiKeyEnv: the environment variable ${name} is not set`);
  return value;
}

const CONTEXT_MARKERS = ["context_length_exceeded", "reduce the length", "maximum context length"];

/** Leaf's rule for telling an overflow from other refusals. */
function isContextOverflow(message: string): boolean {
  const text = message.toLowerCase();
  return (
    CONTEXT_MARKERS.some((marker) => text.includes(marker)) ||
    (text.includes("context length") && text.includes("exceed"))
  );
}

function policyError(error: unknown, where: string): PolicyError {
  if (error instanceof PolicyError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const say = (kind: PolicyError["kind"], what: string) =>
    new PolicyError(kind, `${where}: ${what}`, { cause: error });
  if (error instanceof OpenAI.APIUserAbortError) return say("aborted", "the caller gave up");
  if (error instanceof OpenAI.APIConnectionTimeoutError) return say("unreachable", "no reply in time");
  if (error instanceof OpenAI.APIConnectionError) return say("unreachable", message);
  if (error instanceof OpenAI.APIError && error.status !== undefined) {
    if (isContextOverflow(`${error.code ?? ""} ${message}`)) return say("context", message);
    if (error.status === 404) return say("not-served", message);
    const temporary = error.status >= 500 || error.status === 408 || error.status === 429;
    return say(temporary ? "unreachable" : "protocol", message);
  }
  // fetch fails with a TypeError when the connection breaks within the body, a SyntaxError comes of a broken one.
  return say(error instanceof TypeError ? "unreachable" : "protocol", message);
}

/** Requests are never repeated here: retries are decided in one place, by whoever schedules the rollout. */
export function createOpenAIClient(options: OpenAIClientOptions): PolicyClient {
  const where = withV1(options.baseUrl);
  const timeoutSeconds = options.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS;
  let api: OpenAI | undefined;
  const connect = () => {
    api ??= new OpenAI({ baseURL: where, apiKey: apiKey(options.apiKeyEnv ?? null), maxRetries: 0 });
    return api;
  };

  const request = async (turn: CompletionTurn, model: string, seconds: number) => {
    const { temperature, topP, topK, minP } = turn.sampling;
    const body = {
      model,
      // The library's type is not readonly; it only serialises.
      prompt: turn.prompt as number[],
      max_tokens: turn.maxTokens,
      // Every parameter, always: servers have defaults of their own, some from the model's files.
      temperature,
      top_p: topP,
      top_k: topK,
      min_p: minP,
      seed: turn.seed,
      n: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      logprobs: 1,
      return_token_ids: true,
      skip_special_tokens: false,
      stream: false as const,
    };
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
    const turn = {
      policy: model,
      prompt: options.probePrompt ?? [1, 2, 3],
      maxTokens: 8,
      sampling: { temperature: 1, topP: 1, topK: 0, minP: 0 },
      seed: 1,
    };
    const replies = [];
    for (let i = 0; i < 2; i++) replies.push(await request(turn, model, PROBE_TIMEOUT_SECONDS));
    const [first, second] = replies.map((reply) => replyFacts(reply as object));
    return {
      tokenIds: first!.tokens !== null,
      logProbs: first!.logProbs !== null && first!.logProbs.length === first!.tokens?.length,
      weightVersion: first!.weightVersion !== null,
      seed: replies[0]!.choices[0]?.text === replies[1]!.choices[0]?.text && sameTokens(first!, second!),
    };
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
      return readCompletion(reply as object, turn, turn.policy);
    },
  };
}

function sameTokens(a: { readonly tokens: unknown }, b: { readonly tokens: unknown }): boolean {
  return JSON.stringify(a.tokens) === JSON.stringify(b.tokens);
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

/** Refuses a server that cannot be trained with, naming what it lacks. */
export function requireTraining(capabilities: Capabilities, server: string): void {
  const lacking = [
    ...(capabilities.tokenIds ? [] : ["token ids (return_token_ids)"]),
    ...(capabilities.logProbs ? [] : ["log-probabilities of the sampled tokens"]),
    ...(capabilities.weightVersion ? [] : ["weight version (weight_version)"]),
  ];
  if (lacking.length > 0)
    throw new PolicyError(
      "capability",
      `policy.baseUrl ${server}: the server returns no ${lacking.join(" and no ")}; it can be used for evaluation only, not for training`,
    );
}
