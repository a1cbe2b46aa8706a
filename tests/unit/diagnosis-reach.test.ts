/** How near a change came to the intended one, and what a task is combined with. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { random } from "../../core/random.ts";
import type { FileChange } from "../../core/task.ts";
import type { PreparedEnvironment } from "../../services/environments/types.ts";
import { hardened } from "../../services/synthesis/harden.ts";
import { reachOf } from "../../services/synthesis/index.ts";
import { mutationGenerator } from "../../services/synthesis/mutation.ts";
import { removalGenerator } from "../../services/synthesis/removal.ts";
import { indexSites } from "../../services/synthesis/sites.ts";

const body = (name: string, operator: string) => [
  `function ${name}(list, limit) {`,
  "  let sum = 0;",
  "  for (const item of list) {",
  `    if (item ${operator} limit) sum += item;`,
  ...Array.from({ length: 8 }, (_, n) => `    // ${name} goes on ${n}`),
  "  }",
  "  return sum;",
  "}",
];
const lib = (operator = "<") =>
  [...body("below", operator), ...body("above", ">"), "module.exports = { below, above };", ""].join("\n");
const TREE = { "lib.js": lib(), "other.js": "exports.two = (n) => n * 2;\n" };
const write = (path: string, content: string): FileChange => ({
  kind: "write",
  path,
  content,
  encoding: "utf8",
});

let root: string;
let environment: PreparedEnvironment;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "reach-"));
  for (const [path, text] of Object.entries(TREE)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const entry = { name: "sums", sources: Object.keys(TREE) };
  environment = { key: "sums@1", root, entry } as unknown as PreparedEnvironment;
});
afterAll(() => rmSync(root, { recursive: true }));

describe("reach", () => {
  const task = { base: [write("lib.js", lib("<="))], gold: [write("lib.js", lib())] };
  const of = (...change: FileChange[]) => reachOf(root, task, change);
  const edited = (from: string, to: string) => write("lib.js", lib("<=").replace(from, to));

  it("is that of the intended lines, give or take a few", () => {
    expect(of(...task.gold)).toEqual({ reach: "lines", lines: 2, goldLines: 2 });
    expect(of(edited("let sum = 0", "let sum = 1")).reach).toBe("lines");
  });

  it("is that of the function, of the file, or none", () => {
    expect(of(edited("// below goes on 7", "// below went")).reach).toBe("function");
    expect(of(edited("sum += item;\n    // above", "sum -= item;\n    // above")).reach).toBe("file");
    expect(of(write("other.js", "exports.two = 3;\n"))).toEqual({ reach: "none", lines: 2, goldLines: 2 });
    expect(of().reach).toBe("none");
    // Written again as it was.
    expect(of(...task.base).reach).toBe("none");
  });

  it("takes what the task leaves as it is from the package", () => {
    const added = { base: [], gold: [write("other.js", "exports.two = (n) => n + n;\n")] };
    expect(reachOf(root, added, [write("other.js", "exports.two = (n) => n << 1;\n")])).toEqual({
      ...{ reach: "lines", lines: 2, goldLines: 2 },
    });
  });
});

describe("hardening", () => {
  const brief = { functions: "all", heldOutShare: 0 } as const;

  it("keeps the mistake that was there, adds one elsewhere, and has each alone as well", async () => {
    const index = indexSites(environment);
    const revises = { task: "t1", action: "harden", round: 1 };
    let made = 0;
    for (const generator of [mutationGenerator(() => index), removalGenerator(() => index)])
      for (let seed = 0; seed < 30; seed++) {
        const first = await generator.generate(environment, brief, random(seed, "first"));
        if ("none" in first) continue;
        const second = hardened(index, first, revises, brief, random(seed, "second"));
        if ("none" in second) continue;
        made++;
        expect(hardened(index, first, revises, brief, random(seed, "second"))).toEqual(second);
        expect(second.sites).toHaveLength(2);
        expect(second.parts).toHaveLength(2);
        expect(second.parts).toContainEqual(first.base);
        expect(second.origin).toEqual({ revises });
        for (const gold of second.gold)
          expect(gold.kind === "write" && gold.content).toBe(TREE[gold.path as keyof typeof TREE]);
        // What either mistake alone writes, the two together write as well.
        const text = (changes: readonly FileChange[], path: string): string => {
          const found = changes.find((one) => one.path === path);
          return found?.kind === "write" ? found.content : TREE[path as keyof typeof TREE];
        };
        for (const { path } of second.base) {
          const lines = (changes: readonly FileChange[]) => new Set(text(changes, path).split("\n"));
          const whole = lines(second.base);
          for (const part of second.parts!)
            for (const line of lines(part))
              if (!TREE[path as keyof typeof TREE].split("\n").includes(line)) expect(whole).toContain(line);
        }
      }
    expect(made).toBeGreaterThan(20);
  });
});
