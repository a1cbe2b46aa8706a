/**
 * What the embedded policy understands of a statement: names and `file:line` in backticks, a command to run, what it prints
 * and what it should print. Anything may be missing; any text at all is a statement.
 */

/** Kind of a printed value, by which symptoms are told apart. */
export type Kind =
  | "undefined"
  | "error"
  | "boolean"
  | "number"
  | "string"
  | "array"
  | "object"
  | "null"
  | "other";

export interface Issue {
  /** Lower-case words of the prose, and of the code and outputs, without duplicates. */
  readonly words: ReadonlySet<string>;
  /** Identifiers and words inside strings of the reproduction's code. */
  readonly codeWords: ReadonlySet<string>;
  /** Words of the expected output that the actual output lacks, and the other way round. */
  readonly missingWords: ReadonlySet<string>;
  readonly extraWords: ReadonlySet<string>;
  readonly places: readonly { readonly file: string; readonly line: number }[];
  /** Backticked words: function names and operators among them. */
  readonly names: ReadonlySet<string>;
  /** Names called in the reproduction: `f(` and `.f(`; `exports` where the module itself is called. */
  readonly called: ReadonlySet<string>;
  /** Relative modules that the reproduction requires. */
  readonly required: readonly string[];
  readonly command: string | null;
  readonly actual: readonly string[];
  readonly expected: readonly string[];
  /** One per line that differs: `<expected kind>><actual kind>`. */
  readonly symptoms: readonly string[];
}

export function wordsOf(text: string): string[] {
  // camelCase and snake_case count as their parts too.
  return (text.match(/[A-Za-z][A-Za-z0-9]*/g) ?? []).flatMap((word) => {
    const parts = word.match(/[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])/g) ?? [];
    return [word.toLowerCase(), ...(parts.length > 1 ? parts.map((part) => part.toLowerCase()) : [])];
  });
}

function kindOf(text: string): Kind {
  const value = text.trim();
  if (value === "" || value === "undefined") return "undefined";
  if (value === "null") return "null";
  if (/^(?:Uncaught )?[A-Za-z]*(?:Error|Exception)\b/.test(value)) return "error";
  if (value === "true" || value === "false") return "boolean";
  if (/^-?(?:\d|Infinity|NaN$)/.test(value)) return "number";
  if (/^['"`]/.test(value)) return "string";
  if (value.startsWith("[")) return "array";
  if (/^(?:[\w$]+ ?(?:\(\d+\) )?)?\{|^\[Object/.test(value)) return "object";
  return "other";
}

/** How two outputs of the same kind differ. */
function difference(kind: Kind, actual: string, expected: string): string {
  if (kind === "boolean") return `${expected}`;
  if (kind === "number") {
    const gap = Number(actual) - Number(expected);
    if (!Number.isFinite(gap)) return "infinite";
    return `${gap > 0 ? "greater" : "less"}${Math.abs(gap) === 1 ? "1" : ""}`;
  }
  if (actual.length === expected.length) return "same";
  return actual.length > expected.length ? "longer" : "shorter";
}

function symptomOf(actual: string, expected: string): string {
  const [got, due] = [kindOf(actual), kindOf(expected)];
  return got === due ? `${due}:${difference(due, actual, expected)}` : `${due}>${got}`;
}

function block(text: string, title: string): string | null {
  const match = new RegExp(`^${title}:[ \\t]*\\n\\s*(\`{3,})[^\\n]*\\n([\\s\\S]*?)\\n?\\1`, "m").exec(text);
  return match?.[2] ?? null;
}

/** A reproduction's calls, without what prints them. */
function callsOf(command: string): string {
  const start = command.indexOf("show(() => ");
  return start < 0 ? command : command.slice(start).replaceAll("show(() => ", "");
}

function calledNames(code: string): string[] {
  const names = [...code.matchAll(/([A-Za-z_$][\w$]*)\s*\(/g)].map((match) => match[1]!);
  return /require\([^()]*\)\s*\(/.test(code) ? [...names, "exports"] : names;
}

const MAX_TEXT = 40_000;

function parseIssue(whole: string): Issue {
  const text = whole.slice(0, MAX_TEXT);
  const command = block(text, "Run");
  const actual = block(text, "Prints")?.split("\n") ?? [];
  const expected = block(text, "Should print")?.split("\n") ?? [];
  const quoted = [...text.matchAll(/(?<!`)`([^`\n]+)`(?!`)/g)].map((match) => match[1]!);
  const places = quoted.flatMap((name) => {
    const match = /^(.+\.\w+):(\d{1,6})$/.exec(name);
    return match ? [{ file: match[1]!, line: Number(match[2]) }] : [];
  });
  const due = wordsOf(expected.join("\n"));
  const got = wordsOf(actual.join("\n"));
  const symptoms = expected.flatMap((line, i) =>
    line === actual[i] ? [] : [symptomOf(actual[i] ?? "", line)],
  );
  const code = callsOf(command ?? "");
  // Of the command only its calls: the words around them are the same in every statement.
  const words = command === null ? text : text.replace(command, () => code);
  return {
    words: new Set(wordsOf(words)),
    codeWords: new Set(wordsOf(code)),
    missingWords: new Set(due.filter((word) => !got.includes(word))),
    extraWords: new Set(got.filter((word) => !due.includes(word))),
    places,
    names: new Set(quoted),
    called: new Set(calledNames(code)),
    required: [...code.matchAll(/require\(\s*["']{1,2}(\.[^"']*)["']{1,2}\s*\)/g)].map((match) => match[1]!),
    command: command === null || command.trim() === "" ? null : command,
    actual,
    expected,
    symptoms: [...new Set(symptoms)].slice(0, 4),
  };
}

const CACHE_ENTRIES = 256;
const cache = new Map<string, Issue>();

/** The same text gives the same object while it is cached: what is computed from an issue can be kept beside it. */
export function readIssue(text: string): Issue {
  const issue = cache.get(text) ?? parseIssue(text);
  cache.delete(text);
  cache.set(text, issue);
  if (cache.size > CACHE_ENTRIES) cache.delete(cache.keys().next().value!);
  return issue;
}
