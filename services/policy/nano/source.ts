/** A source text as the embedded policy sees it: edits by line, tokens and how usual a sequence of them is, functions. */
import {
  enumerateEdits,
  innermostFunction,
  listFunctions,
  type SourceEdit,
  type SourceFunction,
} from "../../javascript/index.ts";
import { wordsOf } from "./issue.ts";

const TOKEN =
  /[A-Za-z_$][\w$]*|\d[\w.]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\/|[<>=!]=+|=>|&&|\|\||\?\?|\+\+|--|[-+*/%&|^]=|<<|>>>?|\S/g;

interface Lexeme {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

function lex(text: string): Lexeme[] {
  const lexemes: Lexeme[] = [];
  for (const match of text.matchAll(TOKEN)) {
    if (match[0].startsWith("//") || match[0].startsWith("/*")) continue;
    lexemes.push({ text: match[0], start: match.index, end: match.index + match[0].length });
  }
  return lexemes;
}

/** Counts of one, two and three lexemes in a row. */
class Grams {
  readonly counts = new Map<string, number>();
  readonly total: number;

  constructor(lexemes: readonly Lexeme[]) {
    this.total = lexemes.length;
    for (let i = 0; i < lexemes.length; i++) {
      const [a, b, c] = [lexemes[i]!.text, lexemes[i - 1]?.text, lexemes[i - 2]?.text];
      this.#bump(a);
      if (b !== undefined) this.#bump(`${b}\0${a}`);
      if (c !== undefined) this.#bump(`${c}\0${b}\0${a}`);
    }
  }

  #bump(key: string): void {
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  /** Log-probability of the lexemes from index 2 on, each given the two before it; the window itself counted once less when `own`. */
  score(window: readonly string[], own: boolean): number {
    const less = own ? 1 : 0;
    const count = (key: string) => Math.max(0, (this.counts.get(key) ?? 0) - less);
    let sum = 0;
    for (let i = 2; i < window.length; i++) {
      const [c, b, a] = [window[i - 2]!, window[i - 1]!, window[i]!];
      const one = (count(a) + 0.5) / (this.total + 200);
      const two = (count(`${b}\0${a}`) + one) / (count(b) + 1);
      const three = (count(`${c}\0${b}\0${a}`) + two) / (count(`${c}\0${b}`) + 1);
      sum += Math.log(three);
    }
    return sum;
  }
}

export interface SourceLine {
  /** 1-based. */
  readonly line: number;
  readonly text: string;
  readonly edits: readonly EditView[];
  readonly functionName: string;
  readonly words: readonly string[];
  readonly indent: number;
}

export interface EditView {
  readonly edit: SourceEdit;
  /** What is replaced. */
  readonly old: string;
  /** Lexeme before and behind the replaced range. */
  readonly before: string;
  readonly after: string;
  /** Range of the lexemes that the edit touches. */
  readonly first: number;
  readonly last: number;
}

export class SourceView {
  readonly text: string;
  readonly functions: readonly SourceFunction[];
  readonly lines: readonly SourceLine[];
  /** Lines in which a word occurs. */
  readonly rarity: ReadonlyMap<string, number>;
  readonly #occurrences: ReadonlyMap<string, readonly number[]>;
  readonly #lexemes: readonly Lexeme[];
  readonly #grams: Grams;
  readonly #naturalness = new Map<EditView, number>();
  readonly #population = new Map<string, Map<number, number>>();
  /** Function names that a function's text mentions, its own apart. */
  readonly mentions: ReadonlyMap<string, ReadonlySet<string>>;
  readonly lineCount: number;

  constructor(text: string) {
    this.text = text;
    this.functions = listFunctions(text);
    const lexemes = lex(text);
    const occurrences = new Map<string, number[]>();
    for (const { text: word, start } of lexemes) {
      const list = occurrences.get(word);
      if (list) list.push(start);
      else occurrences.set(word, [start]);
    }
    this.#occurrences = occurrences;
    const texts = text.split("\n");
    this.lineCount = texts.length;
    const rarity = new Map<string, number>();
    const lineWords = texts.map((line) => [...new Set(wordsOf(line))]);
    for (const words of lineWords) for (const word of words) rarity.set(word, (rarity.get(word) ?? 0) + 1);
    this.rarity = rarity;
    this.mentions = this.#callGraph();
    this.#lexemes = lexemes;
    this.#grams = new Grams(lexemes);
    this.lines = this.#linesOf(texts, lineWords);
  }

  #callGraph(): Map<string, Set<string>> {
    const named = this.functions.filter((candidate) => !candidate.name.startsWith("<"));
    const graph = new Map<string, Set<string>>();
    for (const { name } of named) {
      for (const start of this.#occurrences.get(name) ?? []) {
        const user = innermostFunction(this.functions, start).name;
        if (user === name) continue;
        const used = graph.get(user) ?? new Set();
        graph.set(user, used.add(name));
      }
    }
    return graph;
  }

  #linesOf(texts: readonly string[], words: readonly string[][]): SourceLine[] {
    const lexemes = this.#lexemes;
    const byLine = new Map<number, EditView[]>();
    let first = 0;
    for (const edit of enumerateEdits(this.text)) {
      // Nothing that was written down by mistake is repaired by leaving out a statement.
      if (edit.operator === "dropped-statement") continue;
      while (first < lexemes.length && lexemes[first]!.end <= edit.start) first++;
      let last = first;
      while (last < lexemes.length && lexemes[last]!.start < edit.end) last++;
      const item = {
        edit,
        old: this.text.slice(edit.start, edit.end),
        before: lexemes[first - 1]?.text ?? "",
        after: lexemes[last]?.text ?? "",
        first,
        last,
      };
      const list = byLine.get(edit.line);
      if (list) list.push(item);
      else byLine.set(edit.line, [item]);
    }
    return [...byLine]
      .sort(([a], [b]) => a - b)
      .filter(([line]) => line <= texts.length)
      .map(([line, edits]) => ({
        line,
        text: texts[line - 1]!,
        edits,
        functionName: innermostFunction(this.functions, edits[0]!.edit.start).name,
        words: words[line - 1]!,
        indent: /^\s*/.exec(texts[line - 1]!)![0].length,
      }));
  }

  /** Log-ratio of how usual the new and the old sequence of lexemes are in this file. */
  naturalness(item: EditView): number {
    const known = this.#naturalness.get(item);
    if (known !== undefined) return known;
    const { edit, first, last } = item;
    const lexemes = this.#lexemes;
    const left = first < last ? Math.min(edit.start, lexemes[first]!.start) : edit.start;
    const right = first < last ? Math.max(edit.end, lexemes[last - 1]!.end) : edit.end;
    const middle = lex(
      this.text.slice(left, edit.start) + edit.replacement + this.text.slice(edit.end, right),
    );
    const textOf = (part: readonly Lexeme[]) => part.map((lexeme) => lexeme.text);
    const head = textOf(lexemes.slice(Math.max(0, first - 2), first));
    const padded = [...["", ""].slice(head.length), ...head];
    const tail = textOf(lexemes.slice(last, last + 2));
    const value =
      this.#grams.score([...padded, ...textOf(middle), ...tail], false) -
      this.#grams.score([...padded, ...textOf(lexemes.slice(first, last)), ...tail], true);
    this.#naturalness.set(item, value);
    return value;
  }

  /** Edits of an operator in the whole text, in one function, and functions that have any. */
  population(operator: string, functionStart: number): { file: number; around: number; functions: number } {
    if (this.#population.size === 0)
      for (const line of this.lines)
        for (const { edit } of line.edits) {
          const known = this.#population.get(edit.operator) ?? new Map<number, number>();
          const start = this.functionAt(edit.start).start;
          this.#population.set(edit.operator, known.set(start, (known.get(start) ?? 0) + 1));
        }
    const counts = this.#population.get(operator) ?? new Map<number, number>();
    let file = 0;
    for (const count of counts.values()) file += count;
    return { file, around: counts.get(functionStart) ?? 0, functions: counts.size };
  }

  /** How often a word stands as a lexeme of its own between two offsets. */
  count(word: string, start: number, end: number): number {
    return (this.#occurrences.get(word) ?? []).filter((offset) => offset >= start && offset < end).length;
  }

  functionAt(offset: number): SourceFunction {
    return innermostFunction(this.functions, offset);
  }
}

const CACHE_ENTRIES = 96;
const cache = new Map<string, SourceView>();

/** The same text gives the same object while it is cached. */
export function viewSource(text: string): SourceView {
  const view = cache.get(text) ?? new SourceView(text);
  cache.delete(text);
  cache.set(text, view);
  if (cache.size > CACHE_ENTRIES) cache.delete(cache.keys().next().value!);
  return view;
}
