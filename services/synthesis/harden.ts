/** Hardening: a candidate that is always solved is combined with one more mistake elsewhere in the same package. */
import type { RandomStream } from "../../core/random.ts";
import type { TaskOrigin } from "../../core/task.ts";
import { applyEdit, type SourceEdit } from "../languages/index.ts";
import { textsOf, writeText } from "./changes.ts";
import { hunksOf } from "./gates/hunks.ts";
import { DISTANT_LINES, drawSite, factsOf, SECOND_DRAWS } from "./mutation.ts";
import type { EditSite, SiteIndex } from "./sites.ts";
import type { Brief, Candidate } from "./types.ts";

/** Of candidates whose base trees differ from the snapshot in sources of the index alone: mutations, combinations, removals. */
export function hardened(
  index: SiteIndex,
  candidate: Candidate,
  revises: NonNullable<TaskOrigin["revises"]>,
  brief: Brief,
  random: RandomStream,
): Candidate | { readonly none: string } {
  const texts = textsOf(candidate.base);
  for (let draw = 0; draw < SECOND_DRAWS; draw++) {
    const site = drawSite(index, brief, random);
    if (site === null) break;
    if (candidate.sites.some((known) => isNear(known, site))) continue;
    const original = index.sources.get(site.file)!;
    const edit = moved(original, texts.get(site.file) ?? original, site.edit);
    if (edit !== null) return combined(index, candidate, { ...site, edit }, site, revises);
  }
  return { none: "no other place far enough from its own" };
}

function isNear(known: Candidate["sites"][number], { file, functionName, edit }: EditSite): boolean {
  if (known.file !== file) return false;
  return known.functionName === functionName && Math.abs(known.line - edit.line) < DISTANT_LINES;
}

/** The same edit of a text that was changed already; null where it touches what was changed. */
function moved(original: string, changed: string, edit: SourceEdit): SourceEdit | null {
  const old = original.split("\n");
  const size = (lines: readonly string[]): number => lines.reduce((sum, line) => sum + line.length + 1, 0);
  let [shift, lower] = [0, 0];
  for (const { start, end, lines } of hunksOf("", original, changed)) {
    const [from, to] = [size(old.slice(0, start)), size(old.slice(0, end))];
    if (edit.end <= from) break;
    if (edit.start < to) return null;
    shift += size(lines) - (to - from);
    lower += lines.length - (end - start);
  }
  return { ...edit, start: edit.start + shift, end: edit.end + shift, line: edit.line + lower };
}

const newlines = (text: string): number => text.split("\n").length - 1;

function combined(
  index: SiteIndex,
  candidate: Candidate,
  site: EditSite,
  alone: EditSite,
  revises: NonNullable<TaskOrigin["revises"]>,
): Candidate {
  const { file, edit } = site;
  const original = index.sources.get(file)!;
  const texts = textsOf(candidate.base);
  const before = texts.get(file) ?? original;
  texts.set(file, applyEdit(before, edit));
  const files = [...texts.keys()].sort();
  const longer = newlines(edit.replacement) - newlines(before.slice(edit.start, edit.end));
  const parts = candidate.parts ?? [candidate.base];
  const sites = [
    ...candidate.sites.map((known, i) => ({
      facts: known.file === file && known.line > edit.line ? { ...known, line: known.line + longer } : known,
      part: parts[i]!,
    })),
    { facts: factsOf(site), part: [writeText(file, applyEdit(original, alone.edit))] },
  ].sort((a, b) =>
    a.facts.file === b.facts.file ? a.facts.line - b.facts.line : a.facts.file < b.facts.file ? -1 : 1,
  );
  return {
    type: "bug",
    generator: "combination",
    base: files.map((path) => writeText(path, texts.get(path)!)),
    gold: files.map((path) => writeText(path, index.sources.get(path)!)),
    sites: sites.map(({ facts }) => facts),
    functions: [...new Set([...candidate.functions, site.key])],
    parts: sites.map(({ part }) => part),
    origin: { ...candidate.origin, revises },
  };
}
