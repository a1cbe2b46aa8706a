/**
 * Exercises: a file of given words is to be written. A model of a few million parameters can learn that by its tools, and nothing of real code; so
 * the whole path of a real model (engines, batches, trainer, publication) is shown without a GPU (docs/cpu-lane.md). They say nothing about code.
 */
import type { RandomStream } from "../../core/random.ts";
import type { AuthoredText, Task } from "../../core/task.ts";
import { writeText } from "./changes.ts";
import { functionKey, isHeldOut, mayChange } from "./split.ts";
import { writeStatement } from "./statement.ts";
import type { Brief, Candidate, TaskGenerator } from "./types.ts";

/** Short, common and unlike each other; few, so that a small model sees each often. */
export const EXERCISE_WORDS: readonly string[] =
  "acorn arrow basil birch bloom brush canoe chalk cloud crane daisy eagle fable finch forge glass grass heron island kayak ladder lily lunar meadow mirror north olive otter pearl pine prairie rabbit ribbon rocket sage shell storm timber valley walnut winter".split(
    " ",
  );

export const EXERCISE_FOLDER = "notes";
/** Words of a file at most: more of them are harder to copy. */
const MAX_WORDS = 3;

/** Share of all files, by hash, that a model is warmed up on; no task is ever one of them. */
const WARM_UP_SHARE = 0.3;

export interface Exercise {
  /** The file's name, without folder and ending. */
  readonly name: string;
  readonly words: readonly string[];
}

/** For each framework, a test that the file holds the words, whatever the white space around them. */
const TESTS: Readonly<Record<string, (path: string, text: string) => [path: string, text: string]>> = {
  tape: (path, text) => [
    "test/notes.js",
    `var test = require('tape');\nvar fs = require('fs');\n\ntest('note', function (t) {\n  t.equal(fs.existsSync('${path}') && fs.readFileSync('${path}', 'utf8').trim(), '${text}', 'note');\n  t.end();\n});\n`,
  ],
  pytest: (path, text) => [
    "tests/test_notes.py",
    `from pathlib import Path\n\n\ndef test_note():\n    assert Path("${path}").read_text().strip() == "${text}"\n`,
  ],
};

function isWarmUp({ name, words }: Exercise): boolean {
  return isHeldOut(`warm-up ${name} ${words.join(" ")}`, WARM_UP_SHARE);
}

/** `warmUp` says on which side of the split it is. */
export function drawExercise(random: RandomStream, warmUp: boolean): Exercise {
  for (;;) {
    const words = Array.from({ length: 1 + random.integer(MAX_WORDS) }, () => random.pick(EXERCISE_WORDS));
    const exercise = { name: random.pick(EXERCISE_WORDS), words };
    if (isWarmUp(exercise) === warmUp) return exercise;
  }
}

export function exercisePath({ name }: Exercise): string {
  return `${EXERCISE_FOLDER}/${name}.txt`;
}

function textOf(exercise: Exercise): AuthoredText {
  return {
    title: `Write ${exercisePath(exercise)}`,
    // In quotes, as its call has it: copying is then to go on as the quoted text does.
    body: `Its content: "${exercise.words.join(" ")}"`,
    contract: "",
  };
}

/** As the least specific statement of its task reads. */
export function exerciseStatement(exercise: Exercise): string {
  const task = { type: "feature", facts: { sites: [], reproduction: null, text: textOf(exercise) } };
  return writeStatement(task as unknown as Task, 0).text;
}

/** Null where the brief keeps the file for the other side of its split. */
function candidateOf(
  packageName: string,
  framework: string,
  exercise: Exercise,
  brief: Brief,
): Candidate | null {
  const path = exercisePath(exercise);
  const key = functionKey(packageName, path, "<file>");
  if (!mayChange(key, brief)) return null;
  const text = exercise.words.join(" ");
  return {
    type: "feature",
    generator: "exercise",
    base: [],
    gold: [writeText(path, `${text}\n`)],
    sites: [],
    functions: [key],
    tests: [writeText(...TESTS[framework]!(path, text))],
    text: textOf(exercise),
  };
}

/** Draws before a draw is said to give nothing: of a held-out share of a few percent most are on the other side. */
const DRAWS = 64;

export function exerciseGenerator(): TaskGenerator {
  return {
    name: "exercise",
    generate: async ({ entry }, brief, random) => {
      const { name, framework } = entry;
      if (!(framework in TESTS))
        return {
          none: `exercises are tested by ${Object.keys(TESTS).join(" or ")}, and ${name} uses ${framework}`,
        };
      for (let draw = 0; draw < DRAWS; draw++) {
        const candidate = candidateOf(name, framework, drawExercise(random, false), brief);
        if (candidate !== null) return candidate;
      }
      return { none: "no file that the brief allows" };
    },
  };
}
