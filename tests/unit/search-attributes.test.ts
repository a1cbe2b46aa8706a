/** Search attributes: one list in the workflows and in the stack, and what a workflow is given of them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ATTRIBUTE_OF,
  type Attributes,
  attributeFilter,
  OUTCOMES,
  PHASES,
  SEARCH_ATTRIBUTES,
  sole,
} from "../../core/search-attributes.ts";
import { packageRoot, searchAttributes as stackAttributes } from "../../infra/stack/index.ts";
import { searchAttributes } from "../../workflows/attributes.ts";

const attributes = fc.record(
  {
    experiment: fc.string(),
    iteration: fc.nat(),
    phase: fc.constantFrom(...PHASES),
    policy: fc.option(fc.string()),
    environment: fc.option(fc.string()),
  },
  { requiredKeys: [] },
);

describe("search attributes", () => {
  it("are the same in the workflows and in the stack that makes them", () => {
    expect(stackAttributes).toEqual(SEARCH_ATTRIBUTES);
    expect(Object.values(ATTRIBUTE_OF).sort()).toEqual(Object.keys(SEARCH_ATTRIBUTES).sort());
  });

  it("fit beside others on a server with SQL visibility: at most ten Keyword and three Int", () => {
    const types = Object.values(SEARCH_ATTRIBUTES);
    expect(types.filter((type) => type === "Keyword").length).toBeLessThanOrEqual(10);
    expect(types.filter((type) => type === "Int").length).toBeLessThanOrEqual(3);
  });

  it("are given with the type that the server has for them, and left out where they do not apply", () => {
    fc.assert(
      fc.property(attributes, (given) => {
        const pairs = searchAttributes(given as Attributes);
        const types: Record<string, string> = SEARCH_ATTRIBUTES;
        for (const { key } of pairs) expect(key.type).toBe(types[key.name]!.toUpperCase());
        const values = Object.values(given).filter((value) => value !== null && value !== undefined);
        expect(pairs.map(({ value }) => value).sort()).toEqual(values.sort());
      }),
    );
  });

  it("are all documented, and so is each word they can hold", () => {
    const page = readFileSync(join(packageRoot, "docs/temporal-ui.md"), "utf8");
    for (const word of [...Object.keys(SEARCH_ATTRIBUTES), ...PHASES, ...Object.keys(OUTCOMES)])
      expect(page).toContain(`\`${word}\``);
  });
});

describe("attributeFilter", () => {
  it("is a filter for all that is given", () => {
    expect(attributeFilter({ experiment: 'a"b\\c', iteration: 0, policy: null })).toBe(
      'TadpoleExperiment = "a\\"b\\\\c" AND TadpoleIteration = 0',
    );
  });
});

describe("sole", () => {
  it("is the element of a list of one alone", () => {
    expect([sole([]), sole(["a"]), sole(["a", "b"])]).toEqual([null, "a", null]);
  });
});
