/** Report text without what terminals add to it. Pure, in time linear in the text. */

/**
 * Escape sequences as ECMA-48 has them: CSI (colours, cursor), OSC (links, titles), and the short ones. Each ends before the next escape character,
 * so that no text is looked at twice; `stripVTControlCharacters` of Node takes quadratic time.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one.
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[0-Z\\^_`-~])/g;

/** Lines without colours; a lone carriage return ends a line, too. */
export function linesOf(text: string): string[] {
  return text.replace(ESCAPES, "").split(/\r\n|[\r\n]/);
}

/** Number of leading spaces. */
export function indentOf(line: string): number {
  let at = 0;
  while (line[at] === " ") at++;
  return at;
}

/** A file's path relative to the working tree `workdir`, where it lies inside. */
export function repoPath(path: string, workdir: string): string {
  const prefix = workdir.endsWith("/") ? workdir : `${workdir}/`;
  if (path.startsWith(prefix)) return path.slice(prefix.length);
  return path.startsWith("./") ? path.slice(2) : path;
}

/**
 * The JSON object a tool printed, among lines that others printed before or after it: the first that parses, from one of the first or
 * the last lines that begin with `{`. Undefined when none does. `list` is the key of a list that such a report has: `only` says that it stands
 * once in the text, and in this report, so that no other was printed before or after it.
 */
export function jsonIn(
  text: string,
  list: string,
): { readonly json: Readonly<Record<string, unknown>>; readonly only: boolean } | undefined {
  const end = text.lastIndexOf("}") + 1;
  for (const start of starts(text)) {
    if (start >= end) continue;
    const source = text.slice(start, end);
    try {
      const json: unknown = JSON.parse(source);
      if (isRecord(json)) return { json, only: times(source, list) === 1 && times(text, list) === 1 };
    } catch {
      // Not where the report begins.
    }
  }
  return undefined;
}

/** In texts within JSON a key's quotes are escaped. */
function times(text: string, key: string): number {
  return text.match(new RegExp(`(?<!\\\\)"${key}"\\s*:\\s*\\[`, "g"))?.length ?? 0;
}

/** Each try reads to the end of the text: few, so that the whole stays linear. */
const TRIES = 3;

function starts(text: string): number[] {
  const found = new Set<number>();
  for (let at = text.startsWith("{") ? 0 : next(text, 0); at >= 0 && found.size < TRIES; at = next(text, at))
    found.add(at);
  let at = text.length;
  for (let tries = 0; tries < TRIES && at > 0; tries++) {
    at = text.lastIndexOf("\n{", at - 1);
    if (at < 0) break;
    found.add(at + 1);
  }
  return [...found];
}

function next(text: string, after: number): number {
  const at = text.indexOf("\n{", after);
  return at < 0 ? -1 : at + 1;
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const recordsOf = (value: unknown): Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) ? value.filter(isRecord) : [];

export const stringOf = (value: unknown): string => (typeof value === "string" ? value : "");
