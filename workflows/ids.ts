/** Workflow ids and record keys: readable, derived from domain keys alone. */
import type { Scope } from "../activities/types.ts";

export const experimentId = (name: string): string => `exp/${name}`;
export const tryId = (scope: Scope): string =>
  `exp/${scope.experiment}/it/${scope.iteration}/try/${scope.try}`;

/** Prefix of every record of one try of one iteration: `<experiment>/it/<i>/try/<k>`. */
export const recordScope = (scope: Scope): string =>
  `${scope.experiment}/it/${scope.iteration}/try/${scope.try}`;
