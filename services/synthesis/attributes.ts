/** What tells a candidate's likeness to others: where it is, how it was made, what from, and a sketch of its change. */
import type { Attributes } from "../../core/diversity.ts";
import { sketchOf } from "../../core/similarity.ts";
import { languageOf, MODULE_FUNCTION, normalisedTokens } from "../languages/index.ts";
import { baseText } from "./base-tree.ts";
import { textsOf } from "./changes.ts";
import type { Candidate } from "./types.ts";

/** A change of a whole library says no more about itself than its beginning. */
const MAX_TOKENS = 20_000;

/** The functions that hold the lines in which two texts of a file differ; the lines themselves where no function does. */
export function changedParts(file: string, before: string, after: string): [string, string] {
  let start = 0;
  const shortest = Math.min(before.length, after.length);
  while (start < shortest && before[start] === after[start]) start++;
  let tail = 0;
  while (tail < shortest - start && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  return [before, after].map((text) => {
    const end = text.length - tail;
    const around = (languageOf(file)?.functions(text) ?? []).filter(
      (each) => each.name !== MODULE_FUNCTION && each.start <= start && each.end >= end,
    );
    const innermost = around.at(-1);
    if (innermost !== undefined) return text.slice(innermost.start, innermost.end);
    const next = text.indexOf("\n", end);
    return text.slice(text.lastIndexOf("\n", start - 1) + 1, next === -1 ? text.length : next);
  }) as [string, string];
}

/** Names and literals as their kind: what was only renamed has the same sketch. */
function changeTokens(root: string, { base, gold }: Pick<Candidate, "base" | "gold">): string[] {
  const solved = textsOf(gold);
  const before = baseText(root, base);
  const changed = new Set(gold.map(({ path }) => path));
  return [...changed].sort().flatMap((file) => {
    const parts = changedParts(file, before(file), solved.get(file) ?? "");
    return parts.flatMap((part, side) => [
      side === 0 ? "<before>" : "<after>",
      ...normalisedTokens(file, part).slice(0, MAX_TOKENS),
    ]);
  });
}

function lineageOf({ origin }: Candidate): string | null {
  if (origin?.revises !== undefined) return `task ${origin.revises.task}`;
  return origin?.commit === undefined ? null : `commit ${origin.commit.sha}`;
}

/** `root` is the environment's snapshot. */
export function attributesOf(
  { name, root }: { readonly name: string; readonly root: string },
  candidate: Candidate,
): Attributes {
  const { sites } = candidate;
  return {
    files: [...new Set(sites.map(({ file }) => `${name}#${file}`))],
    operators: [...new Set(sites.map(({ operator }) => operator))],
    lineage: lineageOf(candidate),
    sketch: sketchOf(changeTokens(root, candidate)),
  };
}
