/** Which functions a change of a tree touches: those whose own text, without the functions inside them, is not there any more. */
import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { FileChange } from "../../core/task.ts";
import type { Target, Touched } from "../author/index.ts";
import type { PreparedEnvironment } from "../environments/types.ts";
import { languageOf, MODULE_FUNCTION, type SourceFunction } from "../languages/index.ts";
import { textsOf } from "./changes.ts";
import { functionKey } from "./split.ts";

interface OwnText {
  readonly source: SourceFunction;
  readonly name: string;
  readonly text: string;
}

/** Functions without a name are called by their line, which moves with what stands above. */
const stem = (name: string): string => name.replace(/^<anonymous>:\d+$/, "<anonymous>");

/** Of a file in a language that nobody taught us. */
const whole = (text: string): SourceFunction => ({
  name: MODULE_FUNCTION,
  start: 0,
  end: text.length,
  bodyStart: 0,
  bodyEnd: text.length,
  startLine: 1,
  endLine: text.split("\n").length,
  parameters: [],
});

/** Sorted by start, outer before inner: what is inside a function follows it. Blanks count for nothing. */
function ownTexts(file: string, text: string): OwnText[] {
  const listed = languageOf(file)?.functions(text) ?? [whole(text)];
  return listed.map((source, at) => {
    let own = "";
    let end = source.start;
    for (const inner of listed.slice(at + 1)) {
      if (inner.start >= source.end) break;
      if (inner.start < end) continue;
      own += `${text.slice(end, inner.start)}@`;
      end = inner.end;
    }
    own += text.slice(end, source.end);
    return { source, name: stem(source.name), text: own.replace(/[\s@]+/g, " ").trim() };
  });
}

/** Functions of `before` that are not in `after` as they were, and those of `after` whose name is new. */
export function compareFunctions(
  file: string,
  before: string,
  after: string,
): { readonly changed: readonly SourceFunction[]; readonly added: readonly SourceFunction[] } {
  const now = ownTexts(file, after);
  const left = new Map<string, number>();
  const keyOf = ({ name, text }: OwnText) => `${name}\0${text}`;
  for (const one of now) left.set(keyOf(one), (left.get(keyOf(one)) ?? 0) + 1);
  const were = ownTexts(file, before);
  const changed = were.filter((one) => {
    const count = left.get(keyOf(one)) ?? 0;
    left.set(keyOf(one), count - 1);
    return count <= 0;
  });
  const names = new Set(were.map(({ name }) => name));
  return {
    changed: changed.map(({ source }) => source),
    added: now.filter(({ name }) => !names.has(name)).map(({ source }) => source),
  };
}

/** In the order of the change's files. `change` is of the environment's snapshot. */
export function touchedFunctions(
  { root, entry }: PreparedEnvironment,
  change: readonly FileChange[],
): Touched {
  const texts = textsOf(change);
  const changed: Target[] = [];
  const added: Target[] = [];
  for (const { path } of change) {
    const file = join(root, path);
    const isThere = lstatSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
    const before = isThere ? readFileSync(file, "utf8") : "";
    const found = compareFunctions(path, before, texts.get(path) ?? "");
    const targets = (functions: readonly SourceFunction[]) =>
      functions.map(({ name, startLine }) => ({
        file: path,
        functionName: name,
        line: startLine,
        key: functionKey(entry.name, path, name),
      }));
    (isThere ? changed : added).push(...targets(found.changed));
    added.push(...targets(found.added));
  }
  return { changed, added };
}
