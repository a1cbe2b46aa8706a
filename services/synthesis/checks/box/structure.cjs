/** The check of a refactoring: each statement about the shape of the sources, as one test. Runs in the judging box, in the tree's root. */
"use strict";

const { readFileSync } = require("node:fs");
const { codeFiles } = require("./imports.cjs");
const { definitionsOf, is } = require("./definitions.cjs");
const report = require("./tap.cjs");
const { tokensOf } = require("./tokens.cjs");

/** Undefined where there is no such file. */
function read(file) {
  try {
    return tokensOf(readFileSync(file, "utf8"), file.endsWith(".go"));
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

const linesOf = (tokens, [first, last]) => tokens[last].line - tokens[first].line + 1;

/** Calls of the symbol in the definitions of `from`, a definition of its own name aside. */
function calls(tokens, symbol, from) {
  let count = 0;
  for (const [first, last] of definitionsOf(tokens, from))
    for (let i = first; i < last; i++)
      if (
        tokens[i].type === "name" &&
        tokens[i].text === symbol &&
        is(tokens[i + 1], "(") &&
        !is(tokens[i - 1], "function")
      )
        count++;
  return count;
}

/** Whether a run of so many equal tokens stands in two places of the files that do not overlap. */
function hasCopy(files, length) {
  const seen = new Map();
  for (const [file, tokens] of files.entries())
    for (let i = 0; i + length <= tokens.length; i++) {
      const key = tokens
        .slice(i, i + length)
        .map(({ type, text }) => `${type} ${text}`)
        .join("\n");
      const before = seen.get(key);
      if (before === undefined) seen.set(key, { file, i });
      else if (before.file !== file || before.i + length <= i) return true;
    }
  return false;
}

/** Whether the symbol stands outside of its own definitions, as more than what a file exports. */
function isUsed(tokens, symbol) {
  const own = definitionsOf(tokens, symbol);
  return tokens.some(
    ({ type, text }, i) =>
      type === "name" &&
      text === symbol &&
      !own.some(([first, last]) => first <= i && i <= last) &&
      !(is(tokens[i - 1], ".") && is(tokens[i - 2], "exports")),
  );
}

/** `alone`: nothing else is said of the structure, so that a definition that nothing uses would do. */
function holds(assertion, alone = false) {
  const { kind, file, symbol } = assertion;
  if (kind === "max-copies") {
    const files = assertion.files.map(read);
    return files.every((tokens) => tokens !== undefined) && !hasCopy(files, assertion.tokens);
  }
  const tokens = read(file);
  if (kind === "lacks") return tokens === undefined || definitionsOf(tokens, symbol).length === 0;
  if (tokens === undefined) return false;
  if (kind === "calls") return calls(tokens, symbol, assertion.from) >= assertion.atLeast;
  const found = definitionsOf(tokens, symbol);
  if (kind === "defines")
    return found.length > 0 && (!alone || codeFiles(new Set()).some((path) => isUsed(read(path), symbol)));
  return found.length > 0 && found.every((range) => linesOf(tokens, range) <= assertion.lines);
}

if (require.main === module) {
  const { assertions } = JSON.parse(readFileSync(`${__dirname}/check.json`, "utf8"));
  const alone = assertions.every(({ kind }) => kind === "defines");
  report(
    "structure",
    assertions.map(({ name, ...assertion }) => {
      const ok = holds(assertion, alone);
      const note =
        !ok && holds(assertion) ? `${assertion.symbol} is defined, but nothing uses it` : undefined;
      return { name, ok, note };
    }),
  );
}

module.exports = { holds };
