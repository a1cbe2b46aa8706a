/** The functions of a file by what is their own, without the functions inside them; and those that two texts of a file do not share. Pure. */
import { MODULE_FUNCTION } from "../javascript/index.ts";
import { exactTokens } from "./exact-tokens.ts";
import { languageOf } from "./known.ts";
import type { SourceFunction } from "./types.ts";

interface OwnText {
  /** As the language lists it: by its name it is known to the split of train and held-out functions. */
  readonly source: SourceFunction;
  /** Its name, where it has one: others are called by their line, which moves with what stands above. */
  readonly stem: string;
  /** Its exact tokens: comments and layout are none. */
  readonly program: string;
}

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

/** Sorted by start, outer before inner: what is inside a function follows it. */
function ownTexts(file: string, text: string): OwnText[] {
  const listed = languageOf(file)?.functions(text) ?? [whole(text)];
  return listed.map((source, at) => {
    let own = "";
    let end = source.start;
    for (const inner of listed.slice(at + 1)) {
      if (inner.start >= source.end) break;
      if (inner.start < end) continue;
      own += `${text.slice(end, inner.start)} `;
      end = inner.end;
    }
    own += text.slice(end, source.end);
    const stem = source.name.replace(/^<anonymous>:\d+$/, "<anonymous>");
    return { source, stem, program: exactTokens(file, own).join(" ") };
  });
}

/** Functions of `before` that are not in `after` as they were, and those of `after` whose name is new; `<module>` is what stands outside of all. */
export function compareFunctions(
  file: string,
  before: string,
  after: string,
): { readonly changed: readonly SourceFunction[]; readonly added: readonly SourceFunction[] } {
  const now = ownTexts(file, after);
  const left = new Map<string, number>();
  const keyOf = ({ stem, program }: OwnText) => `${stem}\0${program}`;
  for (const one of now) left.set(keyOf(one), (left.get(keyOf(one)) ?? 0) + 1);
  const were = ownTexts(file, before);
  const changed = were.filter((one) => {
    const count = left.get(keyOf(one)) ?? 0;
    left.set(keyOf(one), count - 1);
    return count <= 0;
  });
  const stems = new Set(were.map(({ stem }) => stem));
  return {
    changed: changed.map(({ source }) => source),
    added: now.filter(({ stem }) => !stems.has(stem)).map(({ source }) => source),
  };
}
