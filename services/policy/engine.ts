/**
 * What clients of engines share: an engine serves one version of its weights at a time, so which one it is is read before and after each
 * turn. A turn within which that changed is no sample (`finish`), or one whose tokens name their versions (`continue`).
 */
import { type PolicyKind, policyKind } from "../../core/policy.ts";
import {
  type Capabilities,
  type Completion,
  type CompletionTurn,
  type PolicyClient,
  PolicyError,
} from "./client.ts";
import { type Ask, apiKey, askJson } from "./http.ts";
import { capabilitiesOf, completionOf, PROBE, type Said } from "./reply.ts";

export interface EngineOptions {
  /** Without `/v1`. */
  readonly url: string;
  /** NAME of the environment variable that holds the key; null = the engine needs none. */
  readonly apiKeyEnv?: string | null;
  /** Of one turn, from the request to its last byte. */
  readonly timeoutSeconds?: number;
  /** Of a question about the engine: its version, its model. */
  readonly questionSeconds?: number;
  /** What a turn is within which weights were published; default `finish`. */
  readonly onPublish?: "finish" | "continue";
}

export interface Engine extends PolicyClient {
  readonly url: string;
  /** Id of the policy it serves, or what else it calls its weights; null = it does not say. Throws PolicyError. */
  version(signal?: AbortSignal): Promise<string | null>;
  /** Tells models apart, whatever their weights: engines of one policy agree in it. Throws PolicyError. */
  model(signal?: AbortSignal): Promise<string>;
}

/** Asks the engine; `path` begins with a slash. */
export type AskEngine = (
  path: string,
  ask?: Partial<Pick<Ask, "body" | "signal" | "seconds">>,
) => Promise<unknown>;

/** What differs between kinds of engines. */
export interface EngineProtocol {
  turn(turn: CompletionTurn, ask: AskEngine): Promise<Said>;
  version(ask: AskEngine, signal?: AbortSignal): Promise<string | null>;
  model(ask: AskEngine, signal?: AbortSignal): Promise<string>;
}

/** 8,192 tokens at 20 per second, twice over. Engines do hang: no wait is without an end. */
const TURN_SECONDS = 900;
/** A paused engine answers no turns, but it does answer questions. */
const QUESTION_SECONDS = 20;

/** Whether an engine that serves `version` may answer: `continue` takes any published version, never base weights. */
export function mayAnswer(
  version: string | null,
  asked: string,
  onPublish: "finish" | "continue",
): version is string {
  if (version === null || onPublish === "finish") return version === asked;
  const kind: PolicyKind = policyKind(asked);
  return version.startsWith(`${kind}-`) && /^[0-9a-f]{16}$/.test(version.slice(kind.length + 1));
}

/** Ids went in, so the very same ids must have been sampled from: an engine that renders a history anew trains on what nobody said. */
function checkPrompt(seen: readonly number[], sent: readonly number[]): void {
  if (seen.length === sent.length && seen.every((token, i) => token === sent[i])) return;
  const at = seen.findIndex((token, i) => token !== sent[i]);
  throw new PolicyError(
    "protocol",
    `the engine saw another prompt than was sent: ${seen.length} tokens for ${sent.length}, other ones from ${at < 0 ? seen.length : at} on`,
  );
}

export function createEngine(options: EngineOptions, protocol: EngineProtocol): Engine {
  const url = options.url.replace(/\/+$/, "");
  const { onPublish = "finish", timeoutSeconds = TURN_SECONDS, questionSeconds = QUESTION_SECONDS } = options;
  const ask: AskEngine = (path, { body, signal, seconds = questionSeconds } = {}) =>
    askJson(`${url}${path}`, {
      method: body === undefined ? "GET" : "POST",
      body,
      seconds,
      signal,
      key: apiKey(options.apiKeyEnv ?? null),
    });
  const fail = (kind: PolicyError["kind"], message: string) => new PolicyError(kind, `${url}: ${message}`);
  const sample = (turn: CompletionTurn): Promise<Said> =>
    protocol.turn(turn, (path, more) => ask(path, { seconds: timeoutSeconds, signal: turn.signal, ...more }));

  const notServed = (version: string | null, asked: string) =>
    version === null
      ? fail("capability", "it does not say which weights it serves, so no turn of it can be trained on")
      : fail("not-served", `it serves ${version}: expected ${asked}`);

  /** Versions of the turn's tokens, given the one read before it. */
  const versionsOf = async (
    turn: CompletionTurn,
    said: Said,
    before: string,
  ): Promise<Pick<Completion, "weightVersion" | "versions">> => {
    const { versions } = said;
    const after = said.weightVersion ?? (await protocol.version(ask, turn.signal));
    if (after === before && versions === undefined) return { weightVersion: before };
    const changed = `the weights changed within the turn, from ${before} to ${after}`;
    if (onPublish === "finish") {
      // What a reply says is one thing, what the engine serves another: where they differ, somebody else answered.
      const now = said.weightVersion === null ? after : await protocol.version(ask, turn.signal);
      throw now === before
        ? fail("not-served", `${after} answered: expected ${before}`)
        : fail("aborted", changed);
    }
    const all = versions ?? [{ from: 0, version: before }];
    const strange = [...all.map((one) => one.version), after].find(
      (version) => !mayAnswer(version, turn.policy, onPublish),
    );
    if (strange !== undefined) throw fail("aborted", `${changed}; ${strange} is no published version`);
    return { weightVersion: all[0]!.version, versions: all };
  };

  let capabilities: Promise<Capabilities> | undefined;
  const probe = async (): Promise<Capabilities> => {
    const turn = { ...PROBE, policy: "" };
    const said = [await sample(turn), await sample(turn)];
    const version = await protocol.version(ask);
    return { ...capabilitiesOf(said[0]!, said[1]!), weightVersion: version !== null };
  };

  return {
    url,
    version: (signal) => protocol.version(ask, signal),
    model: (signal) => protocol.model(ask, signal),
    capabilities: () => {
      capabilities ??= probe().catch((error: unknown) => {
        // An engine that was away is asked again.
        capabilities = undefined;
        throw error;
      });
      return capabilities;
    },
    complete: async (turn) => {
      const before = await protocol.version(ask, turn.signal);
      if (!mayAnswer(before, turn.policy, onPublish)) throw notServed(before, turn.policy);
      try {
        const said = await sample(turn);
        const completion = completionOf({ ...said, weightVersion: null }, turn, before);
        checkPrompt(completion.promptTokens ?? turn.prompt, turn.prompt);
        return { ...completion, ...(await versionsOf(turn, said, before)) };
      } catch (error) {
        if (!(error instanceof PolicyError) || error.message.startsWith(url)) throw error;
        throw new PolicyError(error.kind, `${url}: ${error.message}`, { cause: error });
      }
    },
  };
}
