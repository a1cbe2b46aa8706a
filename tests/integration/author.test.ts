/** An author over HTTP, in real sandboxes of a real package: what the good one makes is valid, nothing else passes, and the books are right. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { random } from "../../core/random.ts";
import type { TaskType } from "../../core/task.ts";
import { type PreparedEnvironment, prepareEnvironment } from "../../services/environments/index.ts";
import { createGrading, type GradingService } from "../../services/grading/index.ts";
import { createProcessRuntime, type SandboxRuntime } from "../../services/sandbox/index.ts";
import {
  type Brief,
  type Candidate,
  createSynthesis,
  type SynthesisService,
} from "../../services/synthesis/index.ts";
import { authorSettings, memoryBooks, spentBy } from "../support/author-books.ts";
import { narrowed } from "../support/narrowed.ts";
import {
  type Personality,
  type ScriptedAuthor,
  startScriptedAuthor,
} from "../support/scripted-author/server.ts";

let data: string;
let runtime: SandboxRuntime;
let grading: GradingService;
let synthesis: SynthesisService;
let environment: PreparedEnvironment;

beforeAll(async () => {
  data = mkdtempSync(join(tmpdir(), "author-"));
  runtime = createProcessRuntime({ root: join(data, "sandboxes"), nodePath: process.execPath });
  grading = createGrading({ runtime });
  synthesis = createSynthesis({ grading, sandboxRuntime: runtime, mode: "warm" });
  const runTests = (request: Parameters<GradingService["runTests"]>[0]) => grading.runTests(request, "cold");
  const whole = await prepareEnvironment({ name: "minimist", dataFolder: data, runTests, repeats: 1 });
  // Four of its test files are enough for every gate.
  environment = narrowed(whole, ["test/dotted.js", "test/num.js", "test/parse.js", "test/short.js"]);
}, 180_000);
afterAll(async () => {
  await grading?.close();
  rmSync(data, { recursive: true, force: true });
});

interface Session {
  readonly server: ScriptedAuthor;
  readonly books: ReturnType<typeof memoryBooks>;
  readonly brief: (type: TaskType) => Brief;
}

async function withAuthor<T>(personality: Personality, use: (session: Session) => Promise<T>): Promise<T> {
  const server = await startScriptedAuthor({ personality });
  const books = memoryBooks();
  const types = { bug: 0, feature: 0, refactor: 0, migration: 0, performance: 0 };
  try {
    return await use({
      server,
      books,
      brief: (type) => ({
        functions: "all",
        heldOutShare: 0.3,
        types: { ...types, [type]: 1 },
        author: { settings: authorSettings(server.url), books, key: `test/${personality}`, failures: [] },
      }),
    });
  } finally {
    await server.close();
  }
}

const generate = (brief: Brief) => synthesis.generate(environment, "llm", brief, random(1, "author"));

async function candidateBy(session: Session, type: TaskType): Promise<Candidate> {
  const candidate = await generate(session.brief(type));
  if ("none" in candidate) throw new Error(candidate.none);
  return candidate;
}

const GATES = { maxFlakeRate: null, wrongSolutions: true, determined: true, decontaminate: [] };

async function validate(candidate: Candidate) {
  const { task, gates } = await synthesis.validate(environment, candidate, {
    stabilityRuns: 2,
    gates: GATES,
  });
  return { task, refused: gates.find(({ passed }) => !passed) ?? null };
}

describe("a good author", () => {
  it.each(["bug", "feature"] as const)(
    "makes a valid %s task, and the books say what its server counted",
    (type) =>
      withAuthor("good", async (session) => {
        const candidate = await candidateBy(session, type);
        expect(candidate).toMatchObject({
          type,
          generator: "llm",
          origin: { author: { model: "scripted", mode: type, repairs: 0 } },
        });
        expect(candidate.origin?.author?.promptHash).toMatch(/^[0-9a-f]{64}$/);
        expect(session.server.requests()).toBe(4);
        expect(spentBy(session.books)).toEqual(spentBy(session.server));
        const { task, refused } = await validate(candidate);
        expect(refused).toBeNull();
        expect(task).toMatchObject({ type, generator: "llm", facts: { text: candidate.text } });
      }),
  );

  it("is sent back with what a gate said, goes on in the tree that it left, and delivers the same task put right", () =>
    withAuthor("improving", async (session) => {
      const first = await candidateBy(session, "feature");
      const { refused } = await validate(first);
      expect(refused?.gate).toBe("leak");
      const said = [`${refused?.gate}: ${refused?.evidence}`];
      const brief = session.brief("feature");
      const author = { ...brief.author!, key: "test/improving/repair/1" };
      const second = await synthesis.repair(environment, first, said, { ...brief, author });
      if ("none" in second) throw new Error(second.none);
      expect(second).toMatchObject({
        base: [],
        gold: first.gold,
        tests: first.tests,
        origin: { author: { repairs: 1 } },
      });
      expect((await validate(second)).refused).toBeNull();
      expect(spentBy(session.books)).toEqual(spentBy(session.server));
      const spent = { ...author, settings: { ...author.settings, repairs: 1 } };
      expect(await synthesis.repair(environment, second, said, { ...brief, author: spent })).toEqual({
        none: "author: sent back 1 times already (synthesis.author.repairs)",
      });
    }));
});

describe("a bad author", () => {
  it.each([
    ["vacuous", "feature", "fail-to-pass"],
    ["wrong-gold", "feature", "gold"],
    ["disguised", "feature", "gold"],
  ] as const)("that is %s makes a %s candidate which the gate %s refuses", (personality, type, gate) =>
    withAuthor(personality, async (session) => {
      const { task, refused } = await validate(await candidateBy(session, type));
      expect(task).toBeNull();
      expect(refused?.gate).toBe(gate);
      expect(spentBy(session.books)).toEqual(spentBy(session.server));
    }),
  );

  it.each([
    ["cheating", "author: delivered 5 times what cannot be a task: test/"],
    ["broken-json", "author: the arguments of its calls were no JSON 5 times on end"],
    ["wrong-schema", "author: delivered 5 times what cannot be a task: title:"],
    ["silent", "author: it stopped without calling Deliver"],
  ] as const)("that is %s makes none, and is told so by name", (personality, said) =>
    withAuthor(personality, async (session) => {
      const candidate = await generate(session.brief("bug"));
      expect("none" in candidate ? candidate.none : "").toContain(said);
      expect(session.server.requests()).toBeGreaterThan(2);
      expect(spentBy(session.books)).toEqual(spentBy(session.server));
    }),
  );

  it("leaves no sandbox behind", async () => {
    expect(await runtime.list(Date.now())).toEqual([]);
  });
});
