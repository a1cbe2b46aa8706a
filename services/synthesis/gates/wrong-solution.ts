/**
 * wrong-solution: what is no solution must fail when graded: gold without one of its hunks, a change of something else, tests that are gone.
 * Hunks are dropped only where a candidate brings its own tests: an operator's edit is one hunk, and a combination's edits were tried alone.
 */
import type { FileChange } from "../../../core/task.ts";
import { languageOf } from "../../languages/index.ts";
import { baseText } from "../base-tree.ts";
import { textsOf, writeText } from "../changes.ts";
import { codeFiles } from "../checks/files.ts";
import { applyHunks, type Hunk, hunksOf, isCode, isObservable } from "./hunks.ts";
import { Refused, type Trial } from "./trial.ts";

/** Dropped hunks that are graded; each costs a run of all tests. */
const MAX_HUNKS = 3;

export interface WrongSolution {
  readonly what: string;
  readonly change: readonly FileChange[];
}

export async function wrongSolution(trial: Trial): Promise<void> {
  if (trial.options.gates?.wrongSolutions !== true) return;
  const wrong = [...(trial.judgesItself ? withoutHunks(trial) : []), unrelated(trial), withoutTests(trial)];
  for (const { what, change } of wrong) {
    const verdict = await trial.grade(trial.task, change);
    if (verdict.outcome === "passed") throw new Refused("wrong-solution", `${what} passes`);
  }
  trial.pass("wrong-solution", `fail: ${wrong.map(({ what }) => what).join("; ")}`);
}

/** The largest hunks first; a gold of one hunk loses the second half of it. */
function withoutHunks(trial: Trial): WrongSolution[] {
  const { gold } = trial.candidate;
  const before = baseText(trial.environment.root, trial.candidate.base);
  const all = [...textsOf(gold)].flatMap(([path, text]) => hunksOf(path, before(path), text));
  const telling = all.filter((hunk) => isObservable(before(hunk.path), hunk));
  const size = ({ start, end, lines }: Hunk) => end - start + lines.length;
  const largest = [...telling].sort((a, b) => size(b) - size(a)).slice(0, MAX_HUNKS);
  const gone = gold.filter(({ kind }) => kind !== "write");
  const solution = (hunks: readonly Hunk[]) => [
    ...gone,
    ...[...textsOf(gold).keys()].map((path) =>
      writeText(
        path,
        applyHunks(
          before(path),
          hunks.filter((hunk) => hunk.path === path),
        ),
      ),
    ),
  ];
  if (telling.length === 1) {
    const half = halved(telling[0]!);
    if (half === undefined) return [];
    const rest = all.map((hunk) => (hunk === telling[0] ? half : hunk));
    return [{ what: `half of the hunk at ${placeOf(half)}`, change: solution(rest) }];
  }
  return largest.map((dropped) => ({
    what: `gold without its hunk at ${placeOf(dropped)}`,
    change: solution(all.filter((hunk) => hunk !== dropped)),
  }));
}

const placeOf = ({ path, start }: Hunk): string => `${path}:${start + 1}`;

/** The first half of its code, in the place of the first half of what it replaces; undefined where that is one line only. */
function halved(hunk: Hunk): Hunk | undefined {
  const { lines, start, end } = hunk;
  const code = [...lines.keys()].filter((line) => isCode(lines[line]!));
  if (code.length > 1)
    return { ...hunk, lines: lines.slice(0, code[code.length >> 1]), end: start + ((end - start) >> 1) };
  return lines.length === 0 && end - start > 1 ? { ...hunk, end: start + ((end - start) >> 1) } : undefined;
}

/** A file that nobody asked for, and a comment in the place where gold works. */
function unrelated(trial: Trial): WrongSolution {
  const before = baseText(trial.environment.root, trial.candidate.base);
  const path = trial.candidate.gold.find(({ kind, path }) => kind === "write" && before(path) !== "")?.path;
  const note = writeText("notes/unrelated.txt", "nothing\n");
  if (path === undefined) return { what: "an unrelated file", change: [note] };
  const mark = languageOf(path)?.comment ?? "//";
  const text = `${before(path).replace(/\n$/, "")}\n${mark} nothing\n`;
  return { what: "an unrelated comment and file", change: [note, writeText(path, text)] };
}

/** Every test file of the tree deleted, and those that judge emptied. */
function withoutTests({ environment, candidate }: Trial): WrongSolution {
  const own = new Set((candidate.tests ?? []).map(({ path }) => path));
  const sources = new Set(codeFiles(environment));
  const deleted = environment.entry.tests
    .filter((path) => !own.has(path) && /\.\w+$/.test(path) && !sources.has(path))
    .map((path): FileChange => ({ kind: "delete", path }));
  return { what: "tests deleted", change: [...deleted, ...[...own].map((path) => writeText(path, ""))] };
}
