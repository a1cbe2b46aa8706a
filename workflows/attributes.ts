/** Search attributes as Temporal takes them: at a workflow's start, and as it goes on. */
import { defineSearchAttributeKey, type SearchAttributePair, SearchAttributeType } from "@temporalio/common";
import { upsertSearchAttributes } from "@temporalio/workflow";
import { ATTRIBUTE_OF, type Attributes } from "../core/search-attributes.ts";

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

/** From now on the workflow that calls it is found by these. */
export function noteAttributes(attributes: Attributes): void {
  upsertSearchAttributes(searchAttributes(attributes));
}
