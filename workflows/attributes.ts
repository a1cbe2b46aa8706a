/** Search attributes as Temporal takes them: at a workflow's start, and as it goes on. */
import { defineSearchAttributeKey, type SearchAttributePair, SearchAttributeType } from "@temporalio/common";
import { upsertSearchAttributes } from "@temporalio/workflow";
import type { PolicyRef } from "../core/policy.ts";
import type { Scope } from "../core/scope.ts";
import { ATTRIBUTE_OF, type Attributes, type Phase } from "../core/search-attributes.ts";

/** For `typedSearchAttributes`. Empty values are left out: an upsert changes only what it names. */
export function searchAttributes(attributes: Attributes): SearchAttributePair[] {
  return Object.entries(ATTRIBUTE_OF).flatMap(([field, name]): SearchAttributePair[] => {
    const value = attributes[field as keyof Attributes];
    if (value === undefined || value === null) return [];
    return typeof value === "number"
      ? [{ key: defineSearchAttributeKey(name, SearchAttributeType.INT), value }]
      : [{ key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD), value }];
  });
}

/** What everything of an iteration has; of iteration 0, of what comes before the first. */
export function attributesOf(scope: Scope, phase: Phase, policy: PolicyRef | null): Attributes {
  return { experiment: scope.experiment, iteration: scope.iteration, phase, policy: policy?.id ?? null };
}

/** From now on the workflow that calls it is found by these. */
export function noteAttributes(attributes: Attributes): void {
  upsertSearchAttributes(searchAttributes(attributes));
}
