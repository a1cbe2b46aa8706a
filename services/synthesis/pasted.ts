/** Whether a text holds a piece of the answer's code that is shorter than a line. */

/** So many tokens in a row, so many of them names or numbers, are no coincidence between an issue and the code that resolves it. */
const PIECE_TOKENS = 8;
const PIECE_WORDS = 3;

/** Stands where code says what a statement must say, too, and matches no token of a text. */
const OPAQUE = "\0";
const TOKENS = /\0|[\p{L}_$][\p{L}\p{N}_$]*|\d[\d.]*|[^\s\p{L}\p{N}_$]/gu;
const STRINGS = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g;
const COMMENTS = /\/\*.*?\*\/|(?<!:)\/\/.*$|^\s*(?:\*|#).*$/gm;
/** How something is called is its interface: of a definition, name and parameters. */
const SIGNATURES =
  /\b(?:function\b\s*\*?\s*[\w$]*|def\s+\w+|func\s+(?:\([^)]*\)\s*)?\w+|[\w$]+\s*[=:]\s*(?:async\s*)?)\s*\([^()]*\)(?=\s*(?:\{|=>|:|->))/g;

/** Names that are words of a sentence and operators that are its punctuation are no code. */
function isCode(piece: readonly string[]): boolean {
  const words = new Set(piece.filter((token) => /^[\p{L}\p{N}_$]/u.test(token)));
  return words.size >= PIECE_WORDS && piece.some((token) => /[()[\]{}<>=+*/%&|!?^~]/.test(token));
}

function tokensOf(text: string): string[] {
  return text.match(TOKENS) ?? [];
}

function pieces(tokens: readonly string[]): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (let start = 0; start + PIECE_TOKENS <= tokens.length; start++) {
    const piece = tokens.slice(start, start + PIECE_TOKENS);
    if (!piece.includes(OPAQUE)) found.set(piece.join(" ").toLowerCase(), piece);
  }
  return found;
}

const ofCode = (text: string): Map<string, readonly string[]> =>
  pieces(
    tokensOf(text.replace(STRINGS, ` ${OPAQUE} `).replace(COMMENTS, "").replace(SIGNATURES, ` ${OPAQUE} `)),
  );

/** The first piece of the solved files that the base files lack and the text holds; null = none. */
export function pastedFrom(
  base: ReadonlyMap<string, string>,
  solved: ReadonlyMap<string, string>,
  text: string,
): string | null {
  const said = pieces(tokensOf(text.replaceAll("`", " ")));
  const before = new Set([...base.values()].flatMap((source) => [...ofCode(source).keys()]));
  for (const source of solved.values())
    for (const [piece, tokens] of ofCode(source))
      if (said.has(piece) && !before.has(piece) && isCode(tokens)) return tokens.join(" ");
  return null;
}
