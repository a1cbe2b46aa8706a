/** A tree of files in memory, out of reach of the code that is judged, laid anew before each run. Runs in the judging box. */
"use strict";

const { createHash } = require("node:crypto");
const {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} = require("node:fs");
const { dirname, join } = require("node:path");

const CODE = /\.(?:[cm]?[jt]sx?|py|go)$/;
/** What Python takes in a source's place. */
const COMPILED = /(?:^|\/)__pycache__(?:\/|$)|\.(?:pyc|pyd|so)$/;

/** Files and links below the root by their paths, without installed modules, the history and compiled code. */
function readTree(root) {
  const tree = new Map();
  const visit = (folder) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (path === "node_modules" || path === ".git" || COMPILED.test(path)) continue;
      const full = join(root, path);
      if (entry.isDirectory()) visit(path);
      else if (entry.isSymbolicLink()) tree.set(path, { link: readlinkSync(full) });
      else if (entry.isFile())
        tree.set(path, { content: readFileSync(full), mode: lstatSync(full).mode & 0o777 });
    }
  };
  visit("");
  return tree;
}

/** The base tree: its own code, tests as they are, and of the judged tree what is no code: code that it adds could stand in for the base's. */
function baseTree(judged, { files, tests }) {
  const below = (path) => tests.some((folder) => path === folder || path.startsWith(`${folder}/`));
  const tree = new Map([...judged].filter(([path]) => !CODE.test(path) || below(path)));
  for (const { path, content } of files)
    tree.set(path, { content: Buffer.from(content, "base64"), mode: judged.get(path)?.mode ?? 0o644 });
  return tree;
}

function lay(tree, folder, modules) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  if (existsSync(modules)) symlinkSync(modules, join(folder, "node_modules"));
  for (const [path, { link, content, mode }] of tree) {
    const full = join(folder, path);
    mkdirSync(dirname(full), { recursive: true });
    if (link !== undefined) symlinkSync(link, full);
    else {
      writeFileSync(full, content);
      chmodSync(full, mode);
    }
  }
}

/** Changes when anything below the folder does: the time of an inode's change cannot be set. */
function stateOf(folder) {
  const hash = createHash("sha256");
  const visit = (path) => {
    const { ino, size, ctimeNs } = lstatSync(path, { bigint: true });
    hash.update(`${path}\0${ino} ${size} ${ctimeNs}\n`);
    if (lstatSync(path).isDirectory()) for (const name of readdirSync(path).sort()) visit(join(path, name));
  };
  if (existsSync(folder)) visit(realpathSync(folder));
  return hash.digest("hex");
}

module.exports = { baseTree, lay, readTree, stateOf };
