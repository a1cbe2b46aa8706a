/**
 * Edits that languages share. Each is proposed only where the text still parses after it and another edit of the edited text undoes
 * it; so a rule may look only at what its own edit leaves unchanged.
 */
import { regularExpressionEdits } from "../javascript/index.ts";
import type { SyntaxNode } from "./grammars.ts";
import type { Propose } from "./tree-language.ts";

/** Longer texts are not swapped: nobody makes that mistake, and edits should stay small. */
const SWAP_LIMIT = 200;
/** Statements over more lines are not dropped. */
export const DROP_LINES = 4;
/** Longer texts between quotes are prose. */
const STRING_LIMIT = 40;

/** Words that may stand in for each other, with the operator's name in an edit. */
export type Family = readonly [operator: string, members: readonly string[]];

const OPERATOR_CHARACTER = /[-+*/%<>=!&|^~?:]/;

const isWord = (text: string) => /^\w/.test(text);

/** An operator that touches another operator's characters could merge with them (`a+-b`). */
function standsAlone(text: string, start: number, end: number): boolean {
  return !OPERATOR_CHARACTER.test(text[start - 1] ?? "") && !OPERATOR_CHARACTER.test(text[end] ?? "");
}

/** Exchanges the whole text of `token` for the other members of its families. */
export function exchange(
  text: string,
  families: readonly Family[],
  token: SyntaxNode | undefined,
  propose: Propose,
): void {
  if (token === undefined) return;
  const { start, end } = token;
  const own = text.slice(start, end);
  if (!isWord(own) && !standsAlone(text, start, end)) return;
  // A word in a sign's place needs blanks around it.
  const apart = /\s/.test(text[start - 1] ?? "") && /\s/.test(text[end] ?? "");
  for (const [operator, members] of families)
    if (members.includes(own))
      for (const other of members)
        if (other !== own && (isWord(other) === isWord(own) || apart)) propose(operator, start, end, other);
}

export function swap(text: string, operator: string, a: SyntaxNode, b: SyntaxNode, propose: Propose): void {
  if (b.end - a.start > SWAP_LIMIT) return;
  const [first, second] = [text.slice(a.start, a.end), text.slice(b.start, b.end)];
  if (first !== second) propose(operator, a.start, b.end, second + text.slice(a.end, b.start) + first);
}

export function integer(text: string, { start, end }: SyntaxNode, propose: Propose): void {
  const raw = text.slice(start, end);
  if (!/^(?:0|[1-9]\d{0,8})$/.test(raw)) return;
  const value = Number(raw);
  if (value < 999999999) propose("constant", start, end, String(value + 1));
  if (value > 0) propose("constant", start, end, String(value - 1));
}

/** Adds a prefix before an expression, or takes it away; the caller knows that both texts are expressions of that place. */
export function prefix(
  text: string,
  operator: string,
  { start, end }: SyntaxNode,
  word: string,
  propose: Propose,
): void {
  if (/[\w$]/.test(text[start - 1] ?? "")) return;
  const body = text.slice(start, end);
  if (body.startsWith(word)) {
    // Doubled, or with other blanks, it would not come back as it was.
    const rest = body.slice(word.length);
    if (!/^\s/.test(rest) && !rest.startsWith(word)) propose(operator, start, start + word.length, "");
  } else if (!new RegExp(`^${word.trim()}${isWord(word) ? "\\b" : ""}`).test(body))
    propose(operator, start, start, word);
}

/** Whether a text between quotes may take part in `strings`. */
export function isPlain(content: string): boolean {
  return content.length <= STRING_LIMIT && !/['"`\\\n{}]/.test(content);
}

/**
 * A string that occurs again may become a neighbour in the file's sorted list of strings; the list stays the same, and so does the
 * way back. `names` may always become each other.
 */
export function strings(
  text: string,
  contents: readonly { readonly start: number; readonly end: number }[],
  names: readonly string[],
  propose: Propose,
): void {
  const counts = new Map<string, number>();
  for (const { start, end } of contents) {
    const content = text.slice(start, end);
    counts.set(content, (counts.get(content) ?? 0) + 1);
  }
  const sorted = [...counts.keys()].sort();
  for (const { start, end } of contents) {
    const content = text.slice(start, end);
    const at = sorted.indexOf(content);
    const near = counts.get(content)! > 1 ? sorted.slice(Math.max(0, at - 1), at + 2) : [];
    for (const other of new Set([...near, ...(names.includes(content) ? names : [])]))
      if (other !== content) propose("string", start, end, other);
  }
}

/** Edits of a pattern without delimiters and flags. */
export function pattern(text: string, start: number, end: number, propose: Propose): void {
  const content = text.slice(start, end);
  // Inline flags have to stand first.
  if (content === "" || /^\(\?[a-zA-Z]+\)/.test(content)) return;
  for (const edit of regularExpressionEdits(`/${content}/`))
    if (edit.start <= content.length + 1)
      propose("regular-expression", start + edit.start - 1, start + edit.end - 1, edit.replacement);
}

export function lines(text: string, { start, end }: SyntaxNode): number {
  return text.slice(start, end).split("\n").length;
}

/** The names around one in a list, to stand in for it: being neighbours is symmetric, so every replacement can be undone. */
export function neighbours(names: readonly string[], name: string): string[] {
  const at = names.indexOf(name);
  return at < 0 ? [] : names.slice(Math.max(0, at - 1), at + 2).filter((other) => other !== name);
}
