/** The edits the embedded policy may make: every enumerated edit of every file it has read, as rows of features. */
import { applyEdit } from "../../javascript/index.ts";
import { difference } from "./calls.ts";
import { editFeatures } from "./edit-features.ts";
import type { Candidates } from "./hashing.ts";
import { Features, pack } from "./hashing.ts";
import type { Issue } from "./issue.ts";
import { type Lessons, lessonFeatures, lessonsOf, lineFeatures } from "./line-features.ts";
import { type EditView, type SourceLine, type SourceView, viewSource } from "./source.ts";
import { changeKey, type State } from "./state.ts";

export interface Spot {
  readonly path: string;
  readonly view: SourceView;
  readonly line: SourceLine;
  readonly item: EditView;
}

/** What does not change while statement and text stay the same. */
interface Fixed {
  readonly spots: readonly Spot[];
  /** [spots] rows; the tokens count from 0. */
  readonly rows: Candidates;
}

/** An entry takes about half a megabyte for a file of 150 lines. */
const CACHE_ENTRIES = 48;
const cache = new Map<string, Fixed>();
const ids = new WeakMap<object, number>();
let lastId = 0;

function idOf(object: object): number {
  const known = ids.get(object);
  if (known !== undefined) return known;
  ids.set(object, ++lastId);
  return lastId;
}

function computeFixed(issue: Issue, path: string, view: SourceView): Fixed {
  const ofLine = lineFeatures(issue, path, view);
  const spots = view.lines.flatMap((line) => line.edits.map((item) => ({ path, view, line, item })));
  const rows = spots.map(({ line, item }) => [ofLine(line), editFeatures(issue, view, line, item)]);
  return {
    spots,
    rows: pack(
      rows.map((_, index) => index),
      (index) => rows[index]!,
    ),
  };
}

function fixedOf(issue: Issue, path: string, view: SourceView): Fixed {
  const key = `${idOf(issue)}:${idOf(view)}:${path}`;
  const fixed = cache.get(key) ?? computeFixed(issue, path, view);
  cache.delete(key);
  cache.set(key, fixed);
  if (cache.size > CACHE_ENTRIES) cache.delete(cache.keys().next().value!);
  return fixed;
}

/** In the order in which the files were read, then in the order of the lines. */
export function spotsOf(state: State): readonly Spot[] {
  const files = [...state.texts].map(([path, text]) => fixedOf(state.issue, path, viewSource(text)).spots);
  return files.length === 1 ? files[0]! : files.flat();
}

function triedFeatures(state: State, { path, view, item }: Spot): Features | null {
  const to = applyEdit(view.text, item.edit);
  const tried = state.tried.get(changeKey(path, to, difference(view.text, to).start).key);
  if (tried === undefined) return null;
  const features = new Features();
  features.add("edit:tried");
  features.add(`edit:tried:${tried.effect}`);
  return features;
}

/** What trying has taught about each spot; null where nothing. */
function learned(state: State, fixed: Fixed, lessons: Lessons): (Features | null)[][] {
  const ofLine = new Map<SourceLine, Features | null>();
  return fixed.spots.map((spot) => {
    let line = ofLine.get(spot.line);
    if (line === undefined) {
      line = lessonFeatures(lessons, spot.line);
      ofLine.set(spot.line, line);
    }
    return lessons.lines.has(spot.line.line) ? [line, triedFeatures(state, spot)] : [line];
  });
}

/** `rows` with `more` behind each row's own features. */
function extend(rows: Candidates, more: readonly (readonly (Features | null)[])[]): Candidates {
  const extra = more.reduce(
    (sum, parts) => sum + parts.reduce((n, part) => n + (part?.slots.length ?? 0), 0),
    0,
  );
  if (extra === 0) return rows;
  const total = rows.features.length + extra;
  const out = {
    tokens: rows.tokens,
    offsets: new Int32Array(rows.offsets.length),
    features: new Int32Array(total),
    values: new Float64Array(total),
  };
  let at = 0;
  for (let row = 0; row < rows.tokens.length; row++) {
    const [from, to] = [rows.offsets[row]!, rows.offsets[row + 1]!];
    out.features.set(rows.features.subarray(from, to), at);
    out.values.set(rows.values.subarray(from, to), at);
    at += to - from;
    for (const part of more[row]!) {
      if (part === null) continue;
      out.features.set(part.slots, at);
      out.values.set(part.values, at);
      at += part.slots.length;
    }
    out.offsets[row + 1] = at;
  }
  return out;
}

function concatenate(parts: readonly Candidates[]): Candidates {
  const rows = parts.reduce((sum, part) => sum + part.tokens.length, 0);
  const total = parts.reduce((sum, part) => sum + part.features.length, 0);
  const out = {
    tokens: new Int32Array(rows),
    offsets: new Int32Array(rows + 1),
    features: new Int32Array(total),
    values: new Float64Array(total),
  };
  let row = 0;
  let at = 0;
  for (const part of parts) {
    out.features.set(part.features, at);
    out.values.set(part.values, at);
    for (let i = 0; i < part.tokens.length; i++) out.offsets[row + i + 1] = at + part.offsets[i + 1]!;
    row += part.tokens.length;
    at += part.features.length;
  }
  return out;
}

/** One row per spot of `spotsOf(state)`; token `first` stands for the first. */
export function editCandidates(state: State, first: number): Candidates {
  const parts = [...state.texts].map(([path, text]) => {
    const view = viewSource(text);
    const fixed = fixedOf(state.issue, path, view);
    const lessons = lessonsOf(state, path, view);
    return lessons.functions.size === 0 ? fixed.rows : extend(fixed.rows, learned(state, fixed, lessons));
  });
  const { offsets, features, values } = parts.length === 1 ? parts[0]! : concatenate(parts);
  const tokens = Int32Array.from({ length: offsets.length - 1 }, (_, index) => first + index);
  return { tokens, offsets, features, values };
}
