/** Where JavaScript, TypeScript and Go define a function, a class or a type of a name, as ranges of tokens. Runs in the judging box. */
"use strict";

const { closing } = require("./tokens.cjs");

/** What stands like a method's name before `(…) {` and is none. */
const STATEMENTS = new Set("if for while switch catch with function return".split(" "));
const BEFORE_METHOD = new Set(
  "{ } , ; static async get set * ) public private protected readonly".split(" "),
);

const is = (token, text) => token?.type !== "string" && token?.text === text;

/** Ranges `[first, last]` of tokens, both included, of each definition of the name; the first token is the name or its keyword. */
function definitionsOf(tokens, symbol) {
  const found = [];
  for (let i = 0; i < tokens.length; i++) {
    if (tokens[i].type !== "name" || tokens[i].text !== symbol) continue;
    const range = declared(tokens, i) ?? assigned(tokens, i) ?? method(tokens, i);
    if (range !== undefined) found.push(range);
  }
  return found;
}

function declared(tokens, i) {
  const before = tokens[i - 1];
  const star = is(before, "*") ? i - 2 : i - 1;
  const keyword = ["function", "class", "interface", "enum", "func", "type"].find((word) =>
    is(tokens[star], word),
  );
  if (keyword !== undefined) return [star, endOfBody(tokens, i)];
  // Go: func (receiver) name(
  if (!is(before, ")")) return undefined;
  let open = i - 1;
  while (open > 0 && !is(tokens[open], "(")) open--;
  return is(tokens[open - 1], "func") ? [open - 1, endOfBody(tokens, i)] : undefined;
}

/** `name = function`, `name: (a) => …`, `.name = class`. */
function assigned(tokens, i) {
  if (!is(tokens[i + 1], "=") && !is(tokens[i + 1], ":")) return undefined;
  let at = i + 2;
  if (is(tokens[at], "async")) at++;
  if (is(tokens[at], "function") || is(tokens[at], "class")) return [i, endOfBody(tokens, at)];
  const parameters = is(tokens[at], "(") ? closing(tokens, at) : at;
  const arrow = tokens.slice(parameters + 1, parameters + 20).findIndex((token) => is(token, "=>"));
  const typed = is(tokens[parameters + 1], ":");
  if (arrow < 0 || (arrow > 0 && !typed)) return undefined;
  const body = parameters + 2 + arrow;
  return [i, is(tokens[body], "{") ? closing(tokens, body) : endOfExpression(tokens, body)];
}

function method(tokens, i) {
  if (STATEMENTS.has(tokens[i].text) || !is(tokens[i + 1], "(")) return undefined;
  if (tokens[i - 1] !== undefined && !BEFORE_METHOD.has(tokens[i - 1].text)) return undefined;
  const end = closing(tokens, i + 1);
  if (is(tokens[end + 1], "{")) return [i, closing(tokens, end + 1)];
  return is(tokens[end + 1], ":") ? [i, endOfBody(tokens, end)] : undefined;
}

/** The closing brace of the first block after the parameters. */
function endOfBody(tokens, from) {
  for (let i = from; i < tokens.length; i++) {
    if (is(tokens[i], "(")) i = closing(tokens, i);
    else if (is(tokens[i], "{")) return closing(tokens, i);
    else if (is(tokens[i], ";")) return i;
  }
  return tokens.length - 1;
}

function endOfExpression(tokens, from) {
  for (let i = from; i < tokens.length; i++) {
    if (["(", "[", "{"].some((open) => is(tokens[i], open))) i = closing(tokens, i);
    else if ([")", "]", "}", ",", ";"].some((close) => is(tokens[i], close))) return i - 1;
  }
  return tokens.length - 1;
}

module.exports = { definitionsOf, is };
