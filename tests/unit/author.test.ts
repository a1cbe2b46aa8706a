/** What an author is told and the form of what it hands in: prompts, attributes, deliveries, the tree; all without a model. */
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { random } from "../../core/random.ts";
import { applyOverrides, parseExperimentFile } from "../../core/schemas/index.ts";
import { type FileChange, TASK_TYPES } from "../../core/task.ts";
import { drawAttributes } from "../../services/author/axes.ts";
import { DELIVER_TOOL, readDelivery } from "../../services/author/delivery.ts";
import { AUTHOR_TOOLS, AXES, PROMPTS } from "../../services/author/index.ts";
import { firstMessages, promptOf, promptText, repairMessage } from "../../services/author/prompts.ts";
import { sinceSnapshot, wayBack } from "../../services/author/tree.ts";
import { compareFunctions } from "../../services/languages/index.ts";
import { tinyEnvironment } from "../support/tiny-environment.ts";

const folder = mkdtempSync(join(tmpdir(), "author-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const environment = tinyEnvironment(folder);
const golden = new URL("../golden/author/", import.meta.url);

const write = (path: string, content: string): FileChange => ({
  kind: "write",
  path,
  content,
  encoding: "utf8",
});

describe("prompts", () => {
  it("are what their version says: another text is another version", () => {
    const pinned = JSON.parse(readFileSync(new URL("prompts.json", golden), "utf8"));
    const files = readdirSync(new URL("../../services/author/prompts/", import.meta.url));
    const names = files.map((file) => file.replace(/\.md$/, ""));
    const hashes = names.map((name) => [name, createHash("sha256").update(promptText(name)).digest("hex")]);
    expect(Object.fromEntries(hashes)).toEqual(pinned);
    expect(names).toEqual(expect.arrayContaining([...PROMPTS]));
    for (const name of names) expect(name).toMatch(/^[a-z-]+-v\d+$/);
  });

  it("are told on each task by name and hash, which differ by type", () => {
    const told = TASK_TYPES.map((type) => promptOf(type));
    expect(told[1]!.prompt).toBe("system-v1+feature-v1+repair-v1");
    expect(new Set(told.map(({ promptHash }) => promptHash)).size).toBe(TASK_TYPES.length);
  });

  it("say where to begin, what must stay, and what became of earlier tasks", () => {
    const messages = firstMessages({
      environment,
      mode: "feature",
      target: { file: "index.js", functionName: "exports", line: 1, key: "adder#index.js#exports" },
      attributes: { area: "an area", behaviour: "a behaviour", difficulty: "a difficulty" },
      kept: [{ file: "index.js", functionName: "sum", line: 3, key: "adder#index.js#sum" }],
      failures: [
        {
          type: "bug",
          environment: "adder",
          statement: "A sum is wrong\n\nWith {{package}} in it.",
          diagnosis: "weak-tests",
          evidence: "3 of 8 passed without a change of index.js",
        },
      ],
    });
    const said = messages.map(({ role, content }) => `[${role}]\n${content}`).join("\n");
    expect(said).toBe(readFileSync(new URL("feature.txt", golden), "utf8"));
  });

  it("quote what a gate said", () => {
    expect(repairMessage(["leak: it tells {{said}}"]).content).toContain("\n- leak: it tells {{said}}\n");
  });
});

describe("attributes", () => {
  it("are drawn by weight, the same for the same stream", () => {
    const drawn = Array.from({ length: 2000 }, (_, i) => drawAttributes(random(1, i)));
    expect(drawAttributes(random(1, 7))).toEqual(drawn[7]);
    for (const axis of ["area", "behaviour", "difficulty"] as const) {
      const total = AXES[axis].reduce((sum, { weight }) => sum + weight, 0);
      for (const { name, weight } of AXES[axis]) {
        const share = drawn.filter((one) => one[axis] === name).length / drawn.length;
        expect(Math.abs(share - weight / total)).toBeLessThan(0.05);
      }
    }
  });
});

const SOUND = {
  title: "Sums of text",
  body: "Text should be added too.",
  tests: [{ path: "test/text.js", content: "1;\n" }],
};

describe("a delivery", () => {
  it("has defaults for what may be missing", () => {
    expect(readDelivery({ title: " A ", body: "b" })).toEqual({
      delivery: { title: "A", body: "b", contract: "", tests: [], solved: false },
    });
  });

  it.each([
    [{ body: "b" }, "title"],
    [{ ...SOUND, title: "two\nlines" }, "title: one line is expected"],
    [{ ...SOUND, tests: [{ path: "../x.js", content: "1" }] }, "tests.0.path: a path inside the repository"],
    [{ ...SOUND, tests: [{ path: "/etc/x", content: "1" }] }, "tests.0.path: a path inside the repository"],
    [
      { ...SOUND, tests: [{ path: "node_modules/tape/index.js", content: "1" }] },
      "tests.0.path: a path inside",
    ],
    ...["title", "body", "contract"].flatMap((field) =>
      ["\0", "\x1b[31m", "\x7f", "\x85", "a\rb", "\ud800"].map((text): [object, string] => [
        { ...SOUND, [field]: `a ${text} b` },
        `${field}: text without control characters other than tabs and line breaks`,
      ]),
    ),
    [{ ...SOUND, tests: [{ path: "test/x.js", content: "'\0'" }] }, "tests.0.content: text without control"],
    [
      {
        ...SOUND,
        check: { type: "performance", minSpeedup: 2, workload: { path: "a.js", content: "\0" } },
      },
      "check.workload.content: text without control",
    ],
    [
      { ...SOUND, check: { type: "migration", absent: ["a\0"], present: [] } },
      "check.absent.0: text without",
    ],
    ...["test/\0.js", "test/a\n.js", "-test.js", "test/-x.js", "test\\x.js", ".GIT/config", "a/.Git/x"].map(
      (path): [object, string] => [{ ...SOUND, tests: [{ path, content: "1" }] }, "tests.0.path: "],
    ),
    [{ ...SOUND, tests: "none" }, "tests"],
    [{ ...SOUND, solution: "x" }, "solution"],
    [
      { ...SOUND, check: { type: "performance", minSpeedup: 1, workload: SOUND.tests[0] } },
      "check.minSpeedup",
    ],
    [{ ...SOUND, check: { type: "refactor", structure: [] } }, "check.structure"],
    [{ ...SOUND, check: { type: "migration", absent: [], present: [] } }, "check.absent"],
  ])("that is not sound is told what is wrong: %j", (value, said) => {
    const read = readDelivery(value);
    expect("problems" in read ? read.problems.join("\n") : "").toContain(said);
  });

  it("may have tabs, lines and any script", () => {
    const text = "\tEine Zeile\r\n日本語 \u{1f438}\n";
    expect(
      readDelivery({ ...SOUND, body: text, tests: [{ path: "test/ö.js", content: text }] }),
    ).toMatchObject({
      delivery: { body: text.trim(), tests: [{ content: text }] },
    });
  });

  it("is shown to the author by a schema that knows its parts", () => {
    const { parameters } = DELIVER_TOOL.function;
    expect(parameters).toMatchObject({
      type: "object",
      required: ["title", "body"],
      additionalProperties: false,
    });
    expect(Object.keys((parameters as { properties: object }).properties)).toEqual([
      "title",
      "body",
      "contract",
      "tests",
      "solved",
      "check",
    ]);
    expect(AUTHOR_TOOLS.map((tool) => tool.function.name)).toEqual([
      "Read",
      "Write",
      "Edit",
      "Glob",
      "Bash",
      "Deliver",
    ]);
  });
});

describe("the tree of an author", () => {
  const { root } = environment;
  const original = readFileSync(join(root, "index.js"), "utf8");

  it("is what differs from the snapshot, whatever it was given", () => {
    const given = [write("index.js", "1;\n"), write("lib/new.js", "2;\n")];
    expect(sinceSnapshot(root, given, [])).toEqual(given);
    const undone: FileChange[] = [write("index.js", original), { kind: "delete", path: "lib/new.js" }];
    expect(sinceSnapshot(root, given, undone)).toEqual([]);
    expect(sinceSnapshot(root, [], [{ kind: "delete", path: "index.js" }])).toHaveLength(1);
  });

  it("has a way back", () => {
    const changes: FileChange[] = [{ kind: "delete", path: "index.js" }, write("lib/new.js", "2;\n")];
    expect(wayBack(root, changes)).toEqual([
      write("index.js", original),
      { kind: "delete", path: "lib/new.js" },
    ]);
  });
});

describe("functions that a change touches", () => {
  const before = "function a() { return 1; }\nfunction b() { return (function () { return 2; })(); }\n";
  const names = (after: string) => {
    const { changed, added } = compareFunctions("x.js", before, after);
    return [changed.map(({ name }) => name), added.map(({ name }) => name)];
  };

  it("are those whose own text differs, wherever they stand now", () => {
    expect(names(before)).toEqual([[], []]);
    expect(names(`\n\n${before}`)).toEqual([[], []]);
    expect(names(`// more\n${before.replace("return 1; }", "\n  return 1; // one\n}")}`)).toEqual([[], []]);
    expect(names(before.replace("return 1", "return 3"))).toEqual([["a"], []]);
    expect(names(before.replace("return 2", "return 3"))).toEqual([["<anonymous>:2"], []]);
    expect(names(`${before}function c() {}\n`)).toEqual([[], ["c"]]);
    expect(names(`${before}a();\n`)).toEqual([["<module>"], []]);
    expect(names("function a() { return 1; }\n")).toEqual([["b", "<anonymous>:2"], []]);
  });
});

describe("settings", () => {
  const file = (mix: string, author = "") =>
    `policy: { kind: nano }\nenvironments: { train: [a] }\nselection: { set: { environments: [a], tasks: 4 } }\nevaluation: { sets: { unseen: { environments: [b], tasks: 4 } } }\nsynthesis:\n  mix: ${mix}\n${author}`;
  const AUTHOR = "  author: { baseUrl: http://localhost:1/v1, model: m }\n";
  const LLM = "{ mutation: 1, combination: 0, removal: 0, llm: 1 }";

  it("need an author where the mix has one", () => {
    expect(() => parseExperimentFile(file(LLM), "x.yaml")).toThrow(
      "synthesis.mix.llm: expected 0 where synthesis.author is null: nobody would write these tasks",
    );
    expect(parseExperimentFile(file(LLM, AUTHOR), "x.yaml").synthesis.author).toMatchObject({
      apiKeyEnv: null,
      maxTurns: 40,
      repairs: 2,
    });
  });

  const NO_TYPES = "{ bug: 0, feature: 0, refactor: 0, migration: 0, performance: 0 }";
  const HISTORY = "{ mutation: 1, combination: 0, removal: 0, history: 1 }";
  const MUTATION = "{ mutation: 1, combination: 0, removal: 0 }";
  it.each([
    [
      LLM,
      `  types: ${NO_TYPES}\n`,
      "synthesis.types: expected at least one weight above 0 where the mix has llm",
    ],
    [
      HISTORY,
      `  types: ${NO_TYPES}\n`,
      "synthesis.types: expected at least one weight above 0 where the mix has",
    ],
    [
      MUTATION,
      `  types: ${NO_TYPES}\noverrides: [{ fromIteration: 2, mix: ${LLM} }]\n`,
      "overrides.0.mix: expected no llm where every weight of synthesis.types is 0",
    ],
    [
      LLM,
      `overrides: [{ fromIteration: 2, types: ${NO_TYPES} }]\n`,
      "overrides.0.types: expected at least one weight above 0 where the mix has llm",
    ],
  ])("need a type where the mix asks for one: %s %s", (mix, more, said) => {
    expect(() => parseExperimentFile(file(mix, AUTHOR + more), "x.yaml")).toThrow(said);
  });

  it("need no type where the mix asks for none", () => {
    const settings = parseExperimentFile(file(MUTATION, `  types: ${NO_TYPES}\n`), "x.yaml");
    expect(settings.synthesis.types.bug).toBe(0);
    const amended = () => applyOverrides(settings, ["synthesis.mix.history=1"]);
    expect(amended).toThrow(
      "synthesis.types: expected at least one weight above 0 where the mix has history",
    );
  });

  it.each([
    ["baseUrl: localhost", "synthesis.author.baseUrl"],
    ["baseUrl: ftp://localhost/v1", "synthesis.author.baseUrl"],
    ["apiKeyEnv: sk-abc", "synthesis.author.apiKeyEnv"],
  ])("refuse %s", (line, said) => {
    const author = `  author: { model: m, ${line.startsWith("baseUrl") ? line : `baseUrl: http://localhost:1, ${line}`} }\n`;
    expect(() => parseExperimentFile(file(LLM, author), "x.yaml")).toThrow(said);
  });

  it("do not show what stands where the name of a key's variable should", () => {
    const author = "  author: { baseUrl: http://localhost:1, model: m, apiKeyEnv: sk-abc-123 }\n";
    const refused = (): unknown => parseExperimentFile(file(LLM, author), "x.yaml");
    expect(refused).toThrow("synthesis.author.apiKeyEnv");
    expect(refused).not.toThrow("sk-abc-123");
  });
});
