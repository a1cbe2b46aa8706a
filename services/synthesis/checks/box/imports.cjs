/** The check of a migration in JavaScript, TypeScript and Go: what the sources import. Runs in the judging box, in the tree's root. */
"use strict";

const { readdirSync, readFileSync } = require("node:fs");
const { dirname, join, normalize } = require("node:path").posix;
const { is } = require("./definitions.cjs");
const report = require("./tap.cjs");
const { closing, tokensOf } = require("./tokens.cjs");

const CODE = /\.(?:[cm]?[jt]sx?|go)$/;

/** Modules that a source imports, as they stand in it. */
function importsOf(source, go) {
  const tokens = tokensOf(source, go);
  const found = [];
  const add = (token) => token?.type === "string" && found.push(unescaped(token.text));
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i];
    if (token.type !== "name" || is(tokens[i - 1], ".")) continue;
    if (go) {
      if (token.text !== "import") continue;
      const end = is(tokens[i + 1], "(") ? closing(tokens, i + 1) : i + 2;
      for (const one of tokens.slice(i + 1, end + 1)) add(one);
    } else if (token.text === "from" || token.text === "import") {
      add(tokens[i + 1]);
      if (token.text === "import" && is(tokens[i + 1], "(")) add(tokens[i + 2]);
    } else if (token.text === "require") {
      if (is(tokens[i + 1], "(")) add(tokens[i + 2]);
    }
  }
  return found;
}

const ESCAPE = /\\(?:x([\da-f]{2})|u\{([\da-f]+)\}|u([\da-f]{4})|([0-7]{1,3})|\r?\n|([\s\S]))/gi;
const SINGLE = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f", v: "\v" };

/** What a literal says. */
function unescaped(text) {
  return text.replace(ESCAPE, (_, byte, point, unit, octal, single) => {
    const hex = byte ?? point ?? unit;
    if (hex !== undefined) return String.fromCodePoint(Math.min(Number.parseInt(hex, 16), 0x10ffff));
    if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
    return SINGLE[single] ?? single ?? "";
  });
}

/** Other ways to a module than `require` and `import`. */
const LOADERS = new Set("createRequire _load mainModule getBuiltinModule eval Function".split(" "));
/** What `require` has beside modules. */
const HARMLESS = new Set("resolve main extensions".split(" "));

/** Imports of JavaScript whose module cannot be read from the source, each with its neighbours. */
function unreadableOf(source) {
  const tokens = tokensOf(source);
  const literal = (i) =>
    is(tokens[i], "(") &&
    tokens[i + 1]?.type === "string" &&
    (is(tokens[i + 2], ")") || is(tokens[i + 2], ","));
  const isUnreadable = (i) => {
    const { type, text } = tokens[i];
    if (type === "string") return is(tokens[i - 1], "[") && unescaped(text) === "require";
    if (type === "punctuation") return text === "\\";
    if (type !== "name") return false;
    const member = is(tokens[i - 1], ".") || is(tokens[i - 1], "?.");
    if (LOADERS.has(text)) return text !== "Function" || is(tokens[i + 1], "(");
    if (text === "module") return !member && is(tokens[i + 1], "[");
    if (text === "import") return !member && is(tokens[i + 1], "(") && !literal(i + 1);
    if (text !== "require" || is(tokens[i - 1], "typeof")) return false;
    if (member) return true;
    if ((is(tokens[i - 1], "{") || is(tokens[i - 1], ",")) && is(tokens[i + 1], ":")) return false;
    if (is(tokens[i + 1], ".") && HARMLESS.has(tokens[i + 2]?.text)) return false;
    return !literal(i + 1);
  };
  return [...tokens.keys()].filter(isUnreadable).map((i) =>
    tokens
      .slice(Math.max(0, i - 1), i + 5)
      .map(({ text }) => text)
      .join(" "),
  );
}

const plain = (module) => module.replace(/^node:/, "").replace(/\.[cm]?[jt]sx?$/, "");

/** A file of the tree is meant by its path from the root, `./lib/old.js`; a package by its name, with what lies below it. */
function isOf(module, wanted, file) {
  if (wanted.startsWith("./"))
    return (
      module.startsWith(".") && plain(normalize(join(dirname(file), module))) === plain(normalize(wanted))
    );
  return plain(module) === plain(wanted) || plain(module).startsWith(`${plain(wanted)}/`);
}

function codeFiles(skip, folder = "") {
  return readdirSync(folder || ".", { withFileTypes: true }).flatMap((entry) => {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (skip.has(path) || entry.name === "node_modules" || entry.name === ".git") return [];
    if (entry.isDirectory()) return codeFiles(skip, path);
    return entry.isFile() && CODE.test(path) ? [path] : [];
  });
}

if (require.main === module) {
  const { absent, present, skip, known } = JSON.parse(readFileSync(`${__dirname}/check.json`, "utf8"));
  const sources = codeFiles(new Set(skip)).map((file) => [file, readFileSync(file, "utf8")]);
  const files = sources.map(([file, text]) => [file, importsOf(text, file.endsWith(".go"))]);
  const before = new Set(known.flatMap(unreadableOf));
  const unreadable = sources
    .filter(([file]) => !file.endsWith(".go"))
    .flatMap(([file, text]) =>
      unreadableOf(text)
        .filter((one) => !before.has(one))
        .map((one) => `${file}: what this imports cannot be read: ${one}`),
    );
  const importers = (wanted) =>
    files.filter(([file, modules]) => modules.some((one) => isOf(one, wanted, file))).map(([file]) => file);
  report("imports", [
    ...absent.map(({ name, module }) => ({
      name,
      ok: importers(module).length === 0 && unreadable.length === 0,
      note: [...importers(module), ...unreadable.slice(0, 3)].join(", "),
    })),
    ...present.map(({ name, module }) => ({ name, ok: importers(module).length > 0 })),
  ]);
}

module.exports = { codeFiles, importsOf, isOf, unreadableOf };
