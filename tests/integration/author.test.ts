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
  environment = await prepareEnvironment({ name: "minimist", dataFolder: data, runTests, repeats: 1 });
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

const validate = (candidate: Candidate) => synthesis.validate(environment, candidate, { stabilityRuns: 2 });

describe("a good author", () => {
  it.each(["bug", "feature"] as const)(
    "makes a valid %s task, and the books say what its server counted",
    (type) =>
      withAuthor("good", async (session) => {
        const candidate = await candidateBy(session, type);
        expect(candidate).toMatchObject({
          type,
          generator: "llm",
          origin: { author: { mode: type, repairs: 0 } },
        });
        expect(candidate.origin?.author?.promptHash).toMatch(/^[0-9a-f]{64}$/);
        expect(spentBy(session.books)).toEqual(spentBy(session.server));
        const { task, gates } = await validate(candidate);
        expect(gates.filter(({ passed }) => !passed)).toEqual([]);
        expect(task).not.toBeNull();
      }),
  );
});
