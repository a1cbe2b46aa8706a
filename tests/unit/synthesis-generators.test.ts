/** Generators on a small package: what they may change, that gold undoes it, and how evenly operators are drawn. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { composeChanges } from "../../core/changes.ts";
import { random } from "../../core/random.ts";
import type { PreparedEnvironment } from "../../services/environments/types.ts";
import { parses } from "../../services/javascript/index.ts";
import { textsOf } from "../../services/synthesis/changes.ts";
import { answersElsewhere } from "../../services/synthesis/leaks.ts";
import { combinationGenerator, mutationGenerator } from "../../services/synthesis/mutation.ts";
import { removalGenerator } from "../../services/synthesis/removal.ts";
import { indexSites, type SiteIndex } from "../../services/synthesis/sites.ts";
import { isHeldOut } from "../../services/synthesis/split.ts";
import type { Brief, Candidate, TaskGenerator } from "../../services/synthesis/types.ts";

const SOURCE = `'use strict';
function clamp(value, low, high) {
  if (value < low) { return low; }
  return value > high ? high : value;
}

function total(values) {
  var sum = 0;
  for (var i = 0; i < values.length; i++) {
    sum += values[i];
  }
  return sum;
}

function label(name, options) {
  var title = options && options.title === true ? 'Name: ' : '';
  return title + name.replace(/\\s+/g, ' ');
}

function count(text, letter) {
  return text.split(letter).length - 1;
}

module.exports = { clamp: clamp, total: total, label: label, count: count };
`;

let root: string;
let environment: PreparedEnvironment;
let index: SiteIndex;
const indexOf = () => index;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "synthesis-"));
  writeFileSync(join(root, "index.js"), SOURCE);
  environment = {
    key: "small@1.0.0-000000000000",
    entry: {
      name: "small",
      source: "npm:small@1.0.0",
      role: "train",
      sources: ["index.js"],
      tests: [],
      framework: "tape",
    },
    root,
    modules: root,
    image: null,
    mounts: [],
    env: {},
    commands: [],
    baseline: {},
    baselineRuns: 1,
    cpuSeconds: 0.1,
    unstable: [],
  };
  index = indexSites(environment);
});
afterAll(() => rmSync(root, { recursive: true }));

const ALL: Brief = { functions: "all", heldOutShare: 0.3 };

async function draw(generator: TaskGenerator, seed: number, brief: Brief = ALL): Promise<Candidate> {
  const candidate = await generator.generate(environment, brief, random(seed, "candidate"));
  if ("none" in candidate) throw new Error(candidate.none);
  return candidate;
}

describe.each([
  ["mutation", mutationGenerator, 1],
  ["combination", combinationGenerator, 2],
  ["removal", removalGenerator, 1],
] as const)("%s", (name, make, sites) => {
  it("changes the source to another that parses, and gold restores it exactly", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const candidate = await draw(make(indexOf), seed);
        expect(candidate.generator).toBe(name);
        expect(candidate.sites).toHaveLength(sites);
        const base = textsOf(candidate.base).get("index.js")!;
        expect(base).not.toBe(SOURCE);
        expect(parses(base)).toBe(true);
        expect(textsOf(composeChanges(candidate.base, candidate.gold)).get("index.js")).toBe(SOURCE);
      }),
      { numRuns: 40 },
    );
  });

  it("gives the same candidate for the same stream", async () => {
    expect(await draw(make(indexOf), 7)).toEqual(await draw(make(indexOf), 7));
  });

  it("touches only functions on the brief's side of the split", async () => {
    for (let seed = 0; seed < 40; seed++)
      for (const functions of ["train", "held-out"] as const) {
        const candidate = await make(indexOf).generate(
          environment,
          { functions, heldOutShare: 0.5 },
          random(seed),
        );
        if ("none" in candidate) continue;
        for (const key of candidate.functions) expect(isHeldOut(key, 0.5)).toBe(functions === "held-out");
      }
  });

  it("says so when the brief allows no function", async () => {
    const brief: Brief = { functions: "held-out", heldOutShare: 0 };
    expect(await make(indexOf).generate(environment, brief, random(1))).toHaveProperty("none");
  });
});

describe("a language that nobody knows", () => {
  it("gives no site, and the generator says which", async () => {
    writeFileSync(join(root, "lib.rs"), "fn half(n: i32) -> i32 { n / 2 }");
    const entry = { ...environment.entry, sources: ["lib.rs"] };
    const unknown = indexSites({ ...environment, entry });
    for (const make of [mutationGenerator, combinationGenerator, removalGenerator]) {
      const drawn = await make(() => unknown).generate(environment, ALL, random(1));
      expect(drawn).toEqual({ none: expect.stringContaining("no language is known for .rs") });
    }
  });
});

describe("mutation", () => {
  it("draws each operator equally often, however many edits it has", async () => {
    const drawn = new Map<string, number>();
    const draws = 1200;
    for (let seed = 0; seed < draws; seed++) {
      const { operator } = (await draw(mutationGenerator(indexOf), seed)).sites[0]!;
      drawn.set(operator, (drawn.get(operator) ?? 0) + 1);
    }
    expect([...drawn.keys()].sort()).toEqual([...index.edits.keys()].sort());
    const even = draws / drawn.size;
    for (const [, times] of drawn) {
      expect(times).toBeGreaterThan(even * 0.6);
      expect(times).toBeLessThan(even * 1.4);
    }
  });
});

describe("combination", () => {
  it("holds each mutation alone as a part, and both together as the base", async () => {
    for (let seed = 0; seed < 20; seed++) {
      const candidate = await draw(combinationGenerator(indexOf), seed);
      const parts = candidate.parts!.map((part) => textsOf(part).get("index.js")!);
      expect(new Set([SOURCE, ...parts, textsOf(candidate.base).get("index.js")!]).size).toBe(4);
      expect(candidate.sites[0]!.line).toBeLessThanOrEqual(candidate.sites[1]!.line);
    }
  });
});

describe("removal", () => {
  it("leaves a stub where the body was and is a feature", async () => {
    const candidate = await draw(removalGenerator(indexOf), 3);
    expect(candidate.type).toBe("feature");
    expect(textsOf(candidate.base).get("index.js")).toMatch(
      /\) \{ (throw new Error\("not implemented"\);|return undefined;) \}/,
    );
  });
});

describe("answersElsewhere", () => {
  it("finds a part of the source in a bundle, an example and a source map, and lets documentation quote it", async () => {
    const candidate = await draw(mutationGenerator(indexOf), 5);
    const answers = () => answersElsewhere(root, [candidate.base], candidate.gold);
    expect(answers()).toEqual([]);
    const part = SOURCE.split("\n").slice(1, 20).join("\n");
    mkdirSync(join(root, "dist"));
    writeFileSync(join(root, "dist/bundle.js"), `(function () {\n${part.replace(/^ +/gm, "\t\t")}\n})();`);
    writeFileSync(join(root, "dist/bundle.js.map"), JSON.stringify({ sourcesContent: [SOURCE] }));
    writeFileSync(join(root, "example.js"), part);
    writeFileSync(join(root, "README.md"), SOURCE);
    writeFileSync(join(root, "other.js"), "module.exports = function add(a, b) { return a + b; };");
    expect(answers().sort()).toEqual(["dist/bundle.js", "dist/bundle.js.map", "example.js"]);
  });
});
