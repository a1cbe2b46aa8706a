/**
 * Another way to write a gold, where one can be told from its text alone: a local variable that gold introduces under another name, or
 * the two sides of a comparison exchanged. Pure; it looks for what is certainly the same and gives up otherwise.
 */
import { languageOf } from "../../languages/index.ts";

const DECLARED: Readonly<Record<string, RegExp>> = {
  javascript: /^\s+(?:const|let|var)\s+([A-Za-z_$][\w$]{1,})\s*=/,
  typescript: /^\s+(?:const|let|var)\s+([A-Za-z_$][\w$]{1,})\s*=/,
  python: /^\s+([A-Za-z_]\w+)\s*=[^=]/,
  go: /^\s+([A-Za-z_]\w+)\s*:=/,
};

/** Two plain operands of an equality, between what binds more loosely. */
const EQUALITY =
  /((?:\bif\s*\(|\bif|&&|\|\||\breturn|\band|\bor)\s*)([A-Za-z_$][\w$.]*|\d+|'[^'\\]*'|"[^"\\]*")(\s*(?:===|!==|==|!=)\s*)([A-Za-z_$][\w$.]*|\d+|'[^'\\]*'|"[^"\\]*")(?=\s*(?:\)\s*(?:\{|return|$)|&&|\|\||;|:\s*$|\s\{$|\band\b|\bor\b|$))/;

export interface Alternative {
  readonly what: string;
  readonly text: string;
}

/** `added`: the lines of the text that gold brings. */
export function alternativeOf(path: string, text: string, added: readonly string[]): Alternative | undefined {
  const language = languageOf(path);
  if (language === null) return undefined;
  const found =
    renamed(language.name === "tsx" ? "typescript" : language.name, text, added) ?? exchanged(text, added);
  return found !== undefined && language.parses(found.text) && found.text !== text ? found : undefined;
}

function renamed(language: string, text: string, added: readonly string[]): Alternative | undefined {
  for (const line of added) {
    const name = DECLARED[language]?.exec(line)?.[1];
    if (name === undefined || !isPlain(text, name)) continue;
    const other = `${name}Value`;
    if (text.includes(other)) continue;
    return { what: `the variable ${name} under another name`, text: text.replace(wordOf(name), other) };
  }
  return undefined;
}

const wordOf = (name: string): RegExp =>
  new RegExp(`(?<![\\w$])${name.replace(/\$/g, "\\$")}(?![\\w$])`, "g");

/** Never a property, a key, a keyword argument, a word of a string or a comment, and declared once. */
function isPlain(text: string, name: string): boolean {
  let declared = 0;
  for (const line of text.split("\n")) {
    for (const { index } of line.matchAll(wordOf(name))) {
      const before = line.slice(0, index).trimEnd();
      const after = line.slice(index + name.length).trimStart();
      if (before.endsWith(".") || /^:(?!=)/.test(after) || /["'`#]|\/\/|\/\*|^\s*\*/.test(before))
        return false;
      if (/[{,]$/.test(before) && /^[,}]/.test(after)) return false;
      if (/\b(?:const|let|var|function|class|def|global|nonlocal|for)$/.test(before)) declared++;
      else if (/^=(?![=>])/.test(after) && /[(,]$/.test(before)) return false;
      else if (/[(,]$/.test(before) && /^[^()]*\)\s*(?:=>|\{|:)/.test(after)) return false;
    }
  }
  return declared <= 1;
}

function exchanged(text: string, added: readonly string[]): Alternative | undefined {
  for (const line of added) {
    const found = EQUALITY.exec(line);
    if (found === null || text.split(line).length !== 2) continue;
    const [whole, before, left, operator, right] = found;
    const other = line.replace(whole, () => `${before}${right}${operator}${left}`);
    return {
      what: `the sides of ${left}${operator}${right} exchanged`,
      text: text.replace(line, () => other),
    };
  }
  return undefined;
}
