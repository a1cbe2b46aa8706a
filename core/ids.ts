/** Workflow ids: readable, derived from domain keys alone. */
import { type Scope, scopeKey } from "./scope.ts";

export const experimentId = (name: string): string => `exp/${name}`;
export const tryId = (scope: Scope): string => experimentId(scopeKey(scope));

/** `owner` is the id of the experiment or the try that it belongs to. */
export function evaluationId(
  { policy, set, mode }: { readonly policy: string; readonly set: string; readonly mode: string },
  owner: string,
): string {
  return `eval/${policy}/${set}/${mode}/${owner}`;
}

/** From `exp/<name>[/…]` or `eval/<policy>/<set>/<mode>/exp/<name>[/…]`; null for any other workflow. */
export function experimentOf(workflowId: string): string | null {
  return /^(?:eval\/[^/]+\/[^/]+\/[^/]+\/)?exp\/([^/]+)/.exec(workflowId)?.[1] ?? null;
}
