/** A text's words and signs exactly as they stand, without comments and layout: two texts of the same tokens are the same program. Pure. */

/** What opens a comment, by a file's language. */
const SLASHES = /\/\*[\s\S]*?\*\/|\/\/[^\n]*/;
const HASH = /#[^\n]*/;

/** An escaped sign first: a slash inside a regular expression opens no comment. */
const WORDS =
  /\\[\s\S]|"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'|`(?:\\[\s\S]|[^`\\])*`|[\p{L}_$][\p{L}\p{N}_$]*|\p{N}[\p{L}\p{N}_.]*|\n[ \t]*|[^\s]/u;

const isPython = (path: string): boolean => path.endsWith(".py");

/** Quotes are a matter of layout; what stands between them is not. */
function plainQuotes(token: string): string {
  return /^'[^'"\\]*'$/.test(token) ? `"${token.slice(1, -1)}"` : token;
}

export function exactTokens(path: string, text: string): string[] {
  const comment = isPython(path) ? HASH : SLASHES;
  const found = text.match(new RegExp(`${comment.source}|${WORDS.source}`, "gu")) ?? [];
  const isComment = new RegExp(`^(?:${comment.source})$`);
  const tokens = found.filter((token) => !isComment.test(token));
  if (isPython(path)) return withBlocks(tokens);
  // A comma before a closing bracket and a semicolon before a closing brace change nothing.
  const words = tokens.filter((token) => !token.startsWith("\n")).map(plainQuotes);
  return words.filter((token, i) => !(/^[,;]$/.test(token) && /^[)\]}]$/.test(words[i + 1] ?? "")));
}

/** Lines outside of brackets, each with the depth of its block, however wide its indent is. */
function withBlocks(tokens: readonly string[]): string[] {
  const blocks = [0];
  const words: string[] = [];
  let brackets = 0;
  for (const [i, token] of tokens.entries()) {
    if (token.startsWith("\n")) {
      // Of several line ends the last one indents.
      const next = tokens[i + 1];
      if (brackets > 0 || next === undefined || next.startsWith("\n")) continue;
      const width = token.length - 1;
      while (width < blocks.at(-1)!) blocks.pop();
      if (width > blocks.at(-1)!) blocks.push(width);
      words.push(`<line ${blocks.length}>`);
      continue;
    }
    if (/^[([{]$/.test(token)) brackets++;
    if (/^[)\]}]$/.test(token)) brackets--;
    words.push(plainQuotes(token));
  }
  return words[0]?.startsWith("<line") ? words.slice(1) : words;
}

export function sameProgram(path: string, before: string, after: string): boolean {
  const [left, right] = [exactTokens(path, before), exactTokens(path, after)];
  return left.length === right.length && left.every((token, i) => token === right[i]);
}
