/** Exercises: a file of given words, on its own side of each split, that its test and its statement agree on. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { random } from "../../core/random.ts";
import type { FileChange, Task } from "../../core/task.ts";
import type { PreparedEnvironment } from "../../services/environments/types.ts";
import {
  drawExercise,
  EXERCISE_WORDS,
  exerciseGenerator,
  exercisePath,
  exerciseStatement,
} from "../../services/synthesis/exercise.ts";
import { findLeaks, isHeldOut, writeStatement } from "../../services/synthesis/index.ts";
import type { Candidate } from "../../services/synthesis/types.ts";

const environment = (framework: string) =>
  ({ key: "pack@1-0", entry: { name: "pack", framework } }) as unknown as PreparedEnvironment;

const generate = async (seed: number, functions: "train" | "held-out" | "all", framework = "tape") => {
  const brief = { functions, heldOutShare: 0.3 };
  return exerciseGenerator().generate(environment(framework), brief, random(seed));
};

/** A tree of nothing that matters here. */
const ROOT = import.meta.dirname;

const textOf = (change: FileChange): string => (change as { content: string }).content;

describe("exercises", () => {
  it("have words that are unlike each other", () => {
    expect(new Set(EXERCISE_WORDS).size).toBe(EXERCISE_WORDS.length);
    for (const word of EXERCISE_WORDS) expect(word).toMatch(/^[a-z]{3,8}$/);
  });

  it("are either for warming up or for tasks", () => {
    const named = (warmUp: boolean) =>
      Array.from({ length: 200 }, (_, n) => {
        const { name, words } = drawExercise(random(n, "draw"), warmUp);
        return `${name}: ${words.join(" ")}`;
      });
    const tasks = new Set(named(false));
    expect(named(true).filter((exercise) => tasks.has(exercise))).toEqual([]);
  });

  it("ask in their statement for what their gold change writes and their test reads, and leak nothing", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const candidate = (await generate(seed, "train")) as Candidate;
        const [gold, test] = [candidate.gold[0]!, candidate.tests![0]!];
        const words = textOf(gold).trim();
        expect(textOf(test)).toContain(`'${gold.path}', 'utf8').trim(), '${words}'`);
        const task = {
          id: "t",
          type: "feature",
          environment: "pack@1-0",
          base: [],
          gold: candidate.gold,
          failToPass: ["test/notes.js > note > note"],
          passToPass: [],
          hiddenFiles: ["test/table.js"],
          verifier: { files: candidate.tests },
          facts: { sites: [], functions: candidate.functions, reproduction: null, text: candidate.text },
        } as unknown as Task;
        const statement = writeStatement(task, 0);
        expect(statement.text).toContain(`${gold.path}\n`);
        expect(statement.text).toContain(`: "${words}"\n`);
        expect(findLeaks(task, statement, ROOT)).toEqual([]);
        expect(isHeldOut(candidate.functions[0]!, 0.3)).toBe(false);
      }),
      { numRuns: 50 },
    );
  });

  it("keep held-out files from training", async () => {
    const made = await Promise.all(Array.from({ length: 20 }, (_, seed) => generate(seed, "held-out")));
    for (const candidate of made) expect(isHeldOut((candidate as Candidate).functions[0]!, 0.3)).toBe(true);
  });

  it("are made where their test can be written", async () => {
    expect(((await generate(1, "train", "pytest")) as Candidate).tests![0]!.path).toBe("tests/test_notes.py");
    expect(await generate(1, "train", "go-test")).toEqual({
      none: "exercises are tested by tape or pytest, and pack uses go-test",
    });
  });

  it("are worded apart from a task as they are within one", () => {
    const exercise = { name: "acorn", words: ["sage", "salt"] };
    expect(exercisePath(exercise)).toBe("notes/acorn.txt");
    expect(exerciseStatement(exercise)).toBe(
      'Write notes/acorn.txt\n\nIts content: "sage salt"\n\nPlease implement it. Everything else must keep working.\n',
    );
  });
});
