/** What a file's program offers and needs: public names, modules it loads. Pure; by patterns over exact tokens. */
import { exactTokens, languageOf } from "../../languages/index.ts";

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
