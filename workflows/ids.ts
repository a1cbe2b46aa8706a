/** Workflow ids: readable, derived from domain keys alone. */
import { type Scope, scopeKey } from "../core/scope.ts";

export const experimentId = (name: string): string => `exp/${name}`;
export const tryId = (scope: Scope): string => experimentId(scopeKey(scope));
