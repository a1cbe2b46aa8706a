/** Makes a policy server serve a policy, and proves that it does. */
import type { PolicyRef } from "../../core/policy.ts";
import { PolicyError } from "./client.ts";
import { createNanoTemplate } from "./nano/template.ts";
import { createOpenAIClient } from "./openai.ts";

export interface ServedPolicy {
  readonly id: string;
  readonly sha256: string;
}

const TIMEOUT_MS = 60_000;

async function callWeights(baseUrl: string, init: RequestInit): Promise<unknown> {
  const url = `${baseUrl.replace(/\/+$/, "").replace(/\/v1$/, "")}/weights`;
  let response: Response;
  let body: unknown;
  try {
    response = await fetch(url, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });
    body = await response.json();
  } catch (error) {
    throw new PolicyError("unreachable", `${url}: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    });
  }
  if (response.ok) return body;
  const { error } = body as { error?: { message?: string } };
  throw new PolicyError(
    response.status >= 500 ? "unreachable" : "protocol",
    `${url}: ${error?.message ?? `status ${response.status}`}`,
  );
}

/** Every policy the server can answer with. */
export async function servedPolicies(baseUrl: string): Promise<readonly ServedPolicy[]> {
  const { policies } = (await callWeights(baseUrl, {})) as { policies?: unknown };
  if (!Array.isArray(policies))
    throw new PolicyError("protocol", `${baseUrl}/weights: expected a list "policies"`);
  return policies as ServedPolicy[];
}

/**
 * `path` = the checkpoint's file as the server sees it. Returns once the server lists the policy with the right hash and one completion by
 * it has finite log-probabilities; repeating it changes nothing. Throws PolicyError.
 */
export async function publishPolicy(input: {
  readonly baseUrl: string;
  readonly policy: PolicyRef;
  readonly path: string;
}): Promise<void> {
  const { baseUrl, policy, path } = input;
  const { sha256 } = policy.checkpoint;
  await callWeights(baseUrl, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id: policy.id, path, sha256 }),
  });
  const served = (await servedPolicies(baseUrl)).find((one) => one.id === policy.id);
  if (served?.sha256 !== sha256)
    throw new PolicyError(
      "not-served",
      `${baseUrl} serves ${policy.id} as ${served?.sha256 ?? "nothing"}: expected ${sha256}`,
    );
  // The client checks version, lengths and finiteness.
  await createOpenAIClient({ baseUrl, timeoutSeconds: TIMEOUT_MS / 1000 }).complete({
    policy: policy.id,
    prompt: createNanoTemplate().start([{ role: "user", content: "canary" }], []),
    maxTokens: 16,
    sampling: { temperature: 1, topP: 1, topK: 0, minP: 0 },
    seed: 0,
  });
}
