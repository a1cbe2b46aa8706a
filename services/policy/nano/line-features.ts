/** Features of a line to edit: what does not change while statement and text stay the same, and what trying has taught. */
import { Features } from "./hashing.ts";
import type { Issue } from "./issue.ts";
import type { SourceLine, SourceView } from "./source.ts";
import type { State } from "./state.ts";

interface Context {
  readonly issue: Issue;
  readonly path: string;
  readonly view: SourceView;
  /** Functions the reproduction calls, and those that these call, by distance. */
  readonly reach: ReadonlyMap<string, number>;
}

/** Names of functions by how many calls lie between the reproduction and them, at most three. */
function reachOf(issue: Issue, view: SourceView): Map<string, number> {
  const reach = new Map<string, number>();
  const exported = /\bmodule\.exports\s*=\s*(?:function\s+)?([\w$]+)/.exec(view.text)?.[1];
  const called = (name: string) =>
    issue.called.has(name) || (name === exported && issue.called.has("exports"));
  let front = view.functions.map(({ name }) => name).filter(called);
  for (let distance = 0; distance <= 3 && front.length > 0; distance++) {
    for (const name of front) reach.set(name, distance);
    front = front.flatMap((name) => [...(view.mentions.get(name) ?? [])]).filter((name) => !reach.has(name));
  }
  return reach;
}

function kindOfLine(text: string): string {
  const match =
    /^\s*(?:\} )?(?:else )?(return|if|for|while|var|let|const|throw|case|switch|function|break|continue)\b/.exec(
      text,
    );
  return match?.[1] ?? (/^[\w\s.[\]'"$]+[-+*/|&]?=/.test(text) ? "assign" : "other");
}

function placeFeatures(features: Features, context: Context, line: SourceLine): void {
  const { issue, path } = context;
  const inside = issue.names.has(line.functionName);
  const operators = new Set(line.edits.map((edit) => edit.edit.operator));
  const named = [...operators].some((operator) => issue.names.has(operator));
  const distance = Math.min(
    ...issue.places.filter((place) => place.file === path).map((place) => Math.abs(place.line - line.line)),
  );
  if (distance === 0) features.add("line:named");
  if (distance === 0 && named) features.add("line:named+operator");
  if (distance <= 2) features.add("line:near2");
  if (distance <= 6) features.add("line:near6");
  if (inside) features.add("line:in-function");
  if (named) features.add("line:operator");
  if (inside && named) features.add("line:operator-in-function");
}

function wordFeatures(features: Features, context: Context, line: SourceLine): void {
  const { issue, view } = context;
  const weighted = (words: ReadonlySet<string>) =>
    line.words
      .filter((word) => words.has(word))
      .reduce((sum, word) => sum + 1 / Math.sqrt(view.rarity.get(word) ?? 1), 0);
  const shared = line.words.filter((word) => issue.words.has(word)).length;
  features.add("line:words", Math.log1p(shared));
  features.add("line:rare-words", Math.log1p(weighted(issue.words)));
  features.add("line:code-words", Math.log1p(weighted(issue.codeWords)));
  features.add("line:missing-words", Math.log1p(weighted(issue.missingWords)));
  features.add("line:extra-words", Math.log1p(weighted(issue.extraWords)));
}

function staticFeatures(context: Context, line: SourceLine): Features {
  const features = new Features();
  const { issue, view, reach } = context;
  placeFeatures(features, context, line);
  wordFeatures(features, context, line);
  const operators = new Set(line.edits.map((edit) => edit.edit.operator));
  for (const operator of operators) {
    features.add(`line:has:${operator}`);
    for (const symptom of issue.symptoms) features.add(`line:${symptom}|${operator}`);
  }
  const kind = kindOfLine(line.text);
  features.add(`line:kind:${kind}`);
  for (const symptom of issue.symptoms) features.add(`line:${symptom}|kind:${kind}`);
  features.add("line:edits", Math.log(line.edits.length));
  features.add("line:naturalness", best(view, line));
  features.add("line:indent", Math.log1p(line.indent) / 2);
  const distance = reach.get(line.functionName);
  features.add(
    `line:reach${distance ?? (reach.size === 0 ? "?" : line.functionName === "<module>" ? "m" : "-")}`,
  );
  features.add("line:function-lines", Math.log(functionLines(view, line)) / 4);
  return features;
}

function best(view: SourceView, line: SourceLine): number {
  let most = 0;
  for (const item of line.edits) most = Math.max(most, view.naturalness(item));
  return Math.min(most, 8) / 4;
}

function functionLines(view: SourceView, line: SourceLine): number {
  const around = view.functionAt(line.edits[0]!.edit.start);
  return around.endLine - around.startLine + 1;
}

/** Features of a view's lines for one statement. */
export function lineFeatures(issue: Issue, path: string, view: SourceView): (line: SourceLine) => Features {
  const context = { issue, path, view, reach: reachOf(issue, view) };
  const known = new Map<SourceLine, Features>();
  return (line) => {
    const features = known.get(line) ?? staticFeatures(context, line);
    known.set(line, features);
    return features;
  };
}

export interface Lessons {
  /** Tried edits per line, and what they did. */
  readonly lines: ReadonlyMap<number, { readonly tries: number; readonly effects: ReadonlySet<string> }>;
  /** Per function: effects of the edits tried in it. */
  readonly functions: ReadonlyMap<string, ReadonlySet<string>>;
}

export function lessonsOf(state: State, path: string, view: SourceView): Lessons {
  const lines = new Map<number, { tries: number; effects: Set<string> }>();
  const functions = new Map<string, Set<string>>();
  for (const tried of state.tried.values()) {
    if (tried.path !== path) continue;
    const known = lines.get(tried.line) ?? { tries: 0, effects: new Set<string>() };
    known.tries++;
    known.effects.add(tried.effect);
    lines.set(tried.line, known);
    const name = view.lines.find((line) => line.line === tried.line)?.functionName;
    if (name !== undefined) functions.set(name, (functions.get(name) ?? new Set()).add(tried.effect));
  }
  return { lines, functions };
}

/** Null where nothing was tried nearby. */
export function lessonFeatures(lessons: Lessons, line: SourceLine): Features | null {
  const known = lessons.lines.get(line.line);
  const around = lessons.functions.get(line.functionName);
  if (known === undefined && around === undefined) return null;
  const features = new Features();
  if (known !== undefined) {
    features.add("line:tried");
    features.add("line:tries", Math.log(known.tries));
    if (known.tries >= line.edits.length) features.add("line:exhausted");
    for (const effect of known.effects) features.add(`line:tried:${effect}`);
  }
  for (const effect of around ?? []) features.add(`line:function-tried:${effect}`);
  return features;
}
