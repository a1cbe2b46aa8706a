/**
 * Tokens of JavaScript, TypeScript and Go, with their lines: enough to find definitions, calls and imports without taking a
 * comment or a string for code. Runs in the judging box, so it needs nothing but Node.
 */
"use strict";

/** After these a slash begins a regular expression. */
const BEFORE_EXPRESSION = new Set(
  "( , = : [ ! & | ? { } ; + - * % < > ~ ^ => return typeof case in of new delete void throw else do await yield".split(
    " ",
  ),
);
const NAME = /[\p{ID_Start}$_#][\p{ID_Continue}$\u200c\u200d]*/uy;
const NUMBER = /(?:0[xXoObB][\da-fA-F_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?)n?/y;
const PUNCTUATION = /=>|\.\.\.|\?\.|[{}()[\];,<>+\-*/%&|^!~?:=.@\\]/y;

/** `{type: "name" | "string" | "number" | "regex" | "punctuation", text, line}`; a string's text is its content. */
function tokensOf(source, go = false) {
  const tokens = [];
  /** Depth of braces at which a template's `${` was opened. */
  const templates = [];
  let depth = 0;
  let at = 0;
  let line = 1;
  const advance = (end) => {
    for (; at < end; at++) if (source[at] === "\n") line++;
  };
  const push = (type, text, end) => {
    tokens.push({ type, text, line });
    advance(end);
  };
  const stick = (pattern) => {
    pattern.lastIndex = at;
    return pattern.exec(source)?.[0];
  };
  const endOf = (quote, from) => {
    let end = from;
    while (end < source.length && source[end] !== quote && source[end] !== "\n")
      end += source[end] === "\\" ? 2 : 1;
    return end;
  };
  /** The text of a template up to its end or its next `${`. */
  const template = (from) => {
    let end = from;
    while (end < source.length && source[end] !== "`" && !source.startsWith("${", end))
      end += source[end] === "\\" ? 2 : 1;
    const opens = source[end] === "$";
    push("string", source.slice(from, end), end + (opens ? 2 : 1));
    if (opens) templates.push(depth);
  };
  while (at < source.length) {
    const char = source[at];
    if (/\s/.test(char)) advance(at + 1);
    else if (source.startsWith("//", at) || (at === 0 && source.startsWith("#!"))) {
      const end = source.indexOf("\n", at);
      advance(end < 0 ? source.length : end);
    } else if (source.startsWith("/*", at)) {
      const end = source.indexOf("*/", at + 2);
      advance(end < 0 ? source.length : end + 2);
    } else if (char === '"' || char === "'") {
      const end = endOf(char, at + 1);
      push("string", source.slice(at + 1, end), end + 1);
    } else if (char === "`" && go) {
      const end = source.indexOf("`", at + 1);
      push("string", source.slice(at + 1, end), end < 0 ? source.length : end + 1);
    } else if (char === "`") template(at + 1);
    else if (char === "}" && templates.at(-1) === depth) {
      templates.pop();
      template(at + 1);
    } else if (!go && char === "/" && opensExpression(tokens.at(-1))) {
      const end = endOfRegex(source, at + 1);
      push("regex", source.slice(at, end), end);
    } else {
      const name = stick(NAME);
      const number = name === undefined ? stick(NUMBER) : undefined;
      const text = name ?? number ?? stick(PUNCTUATION) ?? char;
      if (text === "{") depth++;
      if (text === "}") depth--;
      push(name !== undefined ? "name" : number ? "number" : "punctuation", text, at + text.length);
    }
  }
  return tokens;
}

function opensExpression(before) {
  if (before === undefined) return true;
  return (before.type === "name" || before.type === "punctuation") && BEFORE_EXPRESSION.has(before.text);
}

function endOfRegex(source, from) {
  let end = from;
  let inClass = false;
  while (end < source.length && source[end] !== "\n" && (inClass || source[end] !== "/")) {
    if (source[end] === "[") inClass = true;
    if (source[end] === "]") inClass = false;
    end += source[end] === "\\" ? 2 : 1;
  }
  end++;
  while (/[a-z]/.test(source[end] ?? "")) end++;
  return end;
}

const CLOSES = { "(": ")", "[": "]", "{": "}" };

/** Index of the token that closes the bracket at `open`. */
function closing(tokens, open) {
  let depth = 0;
  for (let i = open; i < tokens.length; i++) {
    if (tokens[i].type !== "punctuation") continue;
    if (tokens[i].text in CLOSES) depth++;
    else if (")]}".includes(tokens[i].text) && --depth === 0) return i;
  }
  return tokens.length - 1;
}

module.exports = { tokensOf, closing };
