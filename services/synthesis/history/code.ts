/** What a file's program offers and needs: functions by what is in them, public names, modules it loads. Pure; by patterns over exact tokens. */
import { languageOf, MODULE_FUNCTION } from "../../languages/index.ts";
import { exactTokens } from "./tokens.ts";

export interface FunctionText {
  readonly name: string;
  readonly startLine: number;
  readonly lines: number;
  /** Without the functions inside it. */
  readonly tokens: string;
}

/** Functions that share a name in a file are one. `<module>` is what stands outside of all of them. */
export function functionTexts(path: string, text: string): ReadonlyMap<string, FunctionText> {
  const found = new Map<string, FunctionText>();
  const functions = languageOf(path)?.functions(text) ?? [];
  for (const [index, { name, start, end, startLine, endLine }] of functions.entries()) {
    const inner = functions.slice(index + 1).filter((other) => other.start >= start && other.end <= end);
    let own = "";
    let at = start;
    for (const other of inner) {
      if (other.start < at) continue;
      own += text.slice(at, other.start);
      at = other.end;
    }
    own += text.slice(at, end);
    // Named by their line, functions without a name would differ wherever a line was put before them.
    const key = name.startsWith("<anonymous") ? "<anonymous>" : name;
    const known = found.get(key);
    const tokens = `${known?.tokens ?? ""}\n${exactTokens(path, own).join(" ")}`;
    found.set(key, {
      name: key,
      startLine: known?.startLine ?? startLine,
      lines: Math.max(known?.lines ?? 0, endLine - startLine + 1),
      tokens,
    });
  }
  return found;
}

/** Names of functions that differ, or that only one of the texts has; `<module>` where nothing has a name. */
export function changedFunctions(path: string, before: string, after: string): string[] {
  const [left, right] = [functionTexts(path, before), functionTexts(path, after)];
  const names = [...new Set([...left.keys(), ...right.keys()])];
  const changed = names.filter((name) => left.get(name)?.tokens !== right.get(name)?.tokens);
  return changed.length > 0 ? changed : [MODULE_FUNCTION];
}

const WORD = "[\\p{L}_$][\\p{L}\\p{N}_$]*";
const all = (text: string, pattern: string): string[] =>
  [...text.matchAll(new RegExp(pattern, "gu"))].flatMap((match) =>
    match.slice(1).filter(Boolean),
  ) as string[];

/** Keys at the top of the object literal that begins at a `{`. */
function keysAt(tokens: readonly string[], open: number): string[] {
  const keys: string[] = [];
  let depth = 0;
  for (let at = open; at < tokens.length; at++) {
    const token = tokens[at]!;
    if (/^[{[(]$/.test(token)) depth++;
    if (/^[}\])]$/.test(token) && --depth === 0) break;
    const isFirst = depth === 1 && /^[{,]$/.test(tokens[at - 1] ?? "") && at > open;
    if (isFirst && /^["'\p{L}_$]/u.test(token)) keys.push(token.replace(/^["']|["']$/g, ""));
  }
  return keys;
}

const OPTIONS = "(?:opts?|options|config|settings)";

function javascriptNames(path: string, text: string): string[] {
  const tokens = exactTokens(path, text);
  const line = tokens.join(" ");
  const names = [
    ...all(line, `\\bexports \\. (${WORD}) =(?! =)`),
    ...all(
      line,
      `\\bexport (?:async )?(?:function (?:\\* )?|class |const |let |var |interface |type |enum )(${WORD})`,
    ),
    ...all(line, `\\. prototype \\. (${WORD}) =(?! =)`),
    ...all(line, `\\bexport \\{ ([^}]*)\\}`).flatMap((list) =>
      list.split(",").map((item) => item.trim().split(" as ").at(-1)!.trim()),
    ),
  ];
  for (const [at, token] of tokens.entries())
    if (token === "exports" && tokens[at + 1] === "=" && tokens[at + 2] === "{")
      names.push(...keysAt(tokens, at + 2));
  const [whole] = all(line, `\\bexports = (?:async )?(?:function )?(${WORD})`);
  if (whole !== undefined)
    names.push(...all(line, `(?:^|[;} ])${whole.replaceAll("$", "\\$")} \\. (${WORD}) =(?! =)`));
  return [...names.filter(Boolean), ...all(line, `\\b${OPTIONS} \\. (${WORD})(?! \\()`)];
}

function pythonNames(text: string): string[] {
  const defined = [...text.matchAll(/^(?: {4}|\t)?(?:async )?(?:def|class) (\w+)(?:\(([^)]*)\))?/gm)];
  return defined
    .filter(([, name]) => !name!.startsWith("_") || name === "__init__")
    .flatMap(([, name, parameters = ""]) => [
      ...(name === "__init__" ? [] : [name!]),
      ...[...parameters.matchAll(/(\w+)\s*(?::[^,=]*)?=/g)].map(([, option]) => `${name}(${option}=)`),
    ]);
}

function goNames(text: string): string[] {
  return [...text.matchAll(/^(?:func (?:\([^)]*\) )?|type |var |const |\t)([A-Z]\w*)/gm)].map(
    ([, name]) => name!,
  );
}

/** Names that somebody outside may use: exports, methods, options. What a name belongs to is not asked. */
export function publicNames(path: string, text: string): ReadonlySet<string> {
  switch (languageOf(path)?.name) {
    case "python":
      return new Set(path.split("/").some((part) => /^_(?!_init__)/.test(part)) ? [] : pythonNames(text));
    case "go":
      return new Set(/(^|\/)internal\//.test(path) ? [] : goNames(text));
    case undefined:
      return new Set();
    default:
      return new Set(javascriptNames(path, text));
  }
}

const packageOf = (name: string): string =>
  name
    .replace(/^node:/, "")
    .split("/")
    .slice(0, name.startsWith("@") ? 2 : 1)
    .join("/");

/** Modules of elsewhere that a file loads by a literal name; `isOwn` = a name of the repository's own (Python, Go). */
export function loadedModules(
  path: string,
  text: string,
  isOwn: (name: string) => boolean,
): ReadonlySet<string> {
  switch (languageOf(path)?.name) {
    case "python": {
      const names = [...text.matchAll(/^[ \t]*(?:import|from)[ \t]+([\w.]+(?:[ \t]*,[ \t]*[\w.]+)*)/gm)]
        .flatMap(([, list]) => list!.split(","))
        .map((name) => name.trim().split(".")[0]!);
      return new Set(names.filter((name) => name !== "" && !isOwn(name)));
    }
    case "go": {
      const blocks = [...text.matchAll(/^import\s*(?:\(([^)]*)\)|[\w.]*\s*("[^"\n]+"))/gm)];
      const names = blocks.flatMap(([, many, one]) => [...(many ?? one ?? "").matchAll(/"([^"\n]+)"/g)]);
      return new Set(names.map(([, name]) => name!).filter((name) => !isOwn(name)));
    }
    case undefined:
      return new Set();
    default: {
      const line = exactTokens(path, text).join(" ");
      const names = all(line, `(?:\\brequire \\( |\\bfrom |\\bimport (?:\\( )?)["']([^"'./][^"']*)["']`);
      return new Set(names.map(packageOf).filter((name) => !isOwn(name)));
    }
  }
}
