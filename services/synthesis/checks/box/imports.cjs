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
  const add = (token) => token?.type === "string" && found.push(token.text);
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
  const { absent, present, skip } = JSON.parse(readFileSync(`${__dirname}/check.json`, "utf8"));
  const files = codeFiles(new Set(skip)).map((file) => [
    file,
    importsOf(readFileSync(file, "utf8"), file.endsWith(".go")),
  ]);
  const importers = (wanted) =>
    files.filter(([file, modules]) => modules.some((one) => isOf(one, wanted, file))).map(([file]) => file);
  report("imports", [
    ...absent.map(({ name, module }) => ({
      name,
      ok: importers(module).length === 0,
      note: importers(module).join(", "),
    })),
    ...present.map(({ name, module }) => ({ name, ok: importers(module).length > 0 })),
  ]);
}

module.exports = { importsOf, isOf };
