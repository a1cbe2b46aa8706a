/** What a source file mentions by name: members, options, imported things, literal texts, files. Parsed where it is JavaScript, else read by words. */
import { posix } from "node:path";
import type { AnyNode } from "acorn";
import { isFunction, parseSource, walk } from "../javascript/index.ts";

export interface Mentions {
  /** Members, keys and imported names: never what is only a local variable's name. */
  readonly names: ReadonlySet<string>;
  /** Literal pieces of strings and templates. */
  readonly texts: ReadonlySet<string>;
  /** Literal pieces of regular expressions, where the language writes them as such. */
  readonly patterns: ReadonlySet<string>;
  /** Modules and files that it loads by a relative path, from the root of the tree. */
  readonly files: ReadonlySet<string>;
}

/** Of a regular expression: what matches more than itself, an escaped character, any other one. */
const PATTERN_PIECES =
  /\\[dDwWsSbBnrtfv0]|\[(?:[^\]\\]|\\.)*\]|\(\?(?:[:=!]|<[=!])|\{[\d,]*\}|[.^$()|*+?]|\\(.)|([\s\S])/g;

class Notes implements Mentions {
  readonly names = new Set<string>();
  readonly texts = new Set<string>();
  readonly patterns = new Set<string>();
  readonly files = new Set<string>();
  private readonly folder: string;

  constructor(path: string) {
    this.folder = posix.dirname(path);
  }

  text(value: string): void {
    if (/^\.\.?(\/|$)/.test(value)) {
      const file = posix.join(this.folder, value);
      if (!file.startsWith("..")) this.files.add(file.replace(/\/$/, ""));
    } else if (value.trim() !== "") this.texts.add(value);
  }

  /** The runs of a regular expression that match themselves. */
  regularExpression(source: string): void {
    let run = "";
    for (const [piece, escaped, plain] of `${source}|`.matchAll(PATTERN_PIECES)) {
      const literal = escaped ?? plain;
      if (literal !== undefined) run += literal;
      else {
        // The character before a quantifier may not be there.
        const sure = /^[*+?{]/.test(piece) ? run.slice(0, -1) : run;
        if (sure.trim() !== "") this.patterns.add(sure);
        run = "";
      }
    }
  }
}

/** `test("…", function …)`: what a test is called is nothing that it needs. */
function isTitle(node: AnyNode, call: AnyNode): boolean {
  if (call.type !== "CallExpression" || call.arguments[0] !== node) return false;
  return call.arguments.length > 1 && isFunction(call.arguments.at(-1)!);
}

function ofJavaScript(path: string, source: string): Mentions | null {
  const root = parseSource(source);
  if (root === null) return null;
  const notes = new Notes(path);
  walk(root, (node, parents, key) => {
    if (node.type === "Literal" && key === "arguments" && isTitle(node, parents.at(-1)!)) return;
    if (node.type === "MemberExpression" && !node.computed && node.property.type === "Identifier")
      notes.names.add(node.property.name);
    else if (node.type === "Property" && !node.computed) {
      if (node.key.type === "Identifier") notes.names.add(node.key.name);
    } else if (node.type === "ImportSpecifier" && node.imported.type === "Identifier")
      notes.names.add(node.imported.name);
    else if (node.type === "Literal" && "regex" in node && node.regex)
      notes.regularExpression(node.regex.pattern);
    else if (node.type === "Literal" && typeof node.value === "string") notes.text(node.value);
    else if (node.type === "TemplateElement") notes.text(node.value.cooked ?? node.value.raw);
  });
  return notes;
}

const STRINGS = /"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g;
const COMMENTS = /\/\*[\s\S]*?\*\/|\/\/.*$|(?<![\w"'])#.*$/gm;
const NAMED = [
  /\.\s*([A-Za-z_]\w*)/g,
  /\b([A-Za-z_]\w*)\s*[({]/g,
  /[(,]\s*([A-Za-z_]\w*)\s*[=:](?![=])/g,
] as const;
const IMPORTED = /\bimport\s+(?:type\s+)?\{([^}]*)\}|\bfrom\s+[\w.]+\s+import\s+(?:\(([^)]*)\)|([^\n]*))/g;
const DEFINED = /\b(?:func|def|class|function|const|let|var|type)\s+(?:\([^)]*\)\s*)?([A-Za-z_]\w*)/g;

function byWords(path: string, source: string): Mentions {
  const notes = new Notes(path);
  const code = source.replace(STRINGS, (literal) => {
    const quote = /^("""|'''|.)/.exec(literal)![0];
    for (const piece of literal
      .slice(quote.length, -quote.length)
      .split(/\$\{[^}]*\}|%[-+.\d]*[a-z]|\{\w*\}/))
      notes.text(piece.replaceAll("\\n", "\n").replace(/\\(.)/g, "$1"));
    return '""';
  });
  const bare = code.replace(COMMENTS, "");
  for (const pattern of NAMED) for (const [, name] of bare.matchAll(pattern)) notes.names.add(name!);
  for (const [, braces, brackets, line] of bare.matchAll(IMPORTED))
    for (const name of (braces ?? brackets ?? line ?? "").match(/[A-Za-z_]\w*/g) ?? []) notes.names.add(name);
  for (const [, name] of bare.matchAll(DEFINED)) notes.names.delete(name!);
  return notes;
}

export function mentionsOf(path: string, source: string): Mentions {
  return (/\.[cm]?js$/.test(path) ? ofJavaScript(path, source) : null) ?? byWords(path, source);
}
