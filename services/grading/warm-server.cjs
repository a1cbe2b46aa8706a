/**
 * The warm test server: one Node process inside the sandbox that runs many test files, each as if it were a new
 * process: fresh modules, the process's end played to its `exit` listeners, and a real end whenever something stays behind.
 *
 * Requests come on descriptor 3, a JSON line each: `{nonce, files, overlay?}`. What a file prints goes to stdout, between two
 * lines that carry the nonce; the second one says how it ended.
 */
"use strict";

const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");
const { takeSnapshot } = require("./warm-snapshot.cjs");

const REPO = "/repo";
const MODULES = `${REPO}/node_modules/`;
/** Tape (under both its names) keeps results in module state, so each file gets a fresh copy; what it depends on has none. */
const TAPES = ["tape", "tap"].map((name) => `${MODULES}${name}/`);
/** Read-only, so nothing there can change. */
const MOUNTS = new Set(JSON.parse(process.argv[2]));
const REQUESTS = 3;

// Taken before any tested code runs, which may replace them.
const { readSync, writeFileSync, readFileSync, lstatSync, readdirSync, unlinkSync, symlinkSync } = fs;
const { readlinkSync, mkdirSync, rmdirSync, chmodSync } = fs;
const { stdout, stderr: _stderr } = process; // both are made on first use
const writeStdout = stdout.write.bind(stdout);
const realExit = process.exit.bind(process);
const cpuUsage = process.cpuUsage.bind(process);
const activeResources = process.getActiveResourcesInfo.bind(process);
const listenersOf = process.rawListeners.bind(process);
const { parse, stringify } = JSON;

const EXIT = Symbol("exit");
const environment = { ...process.env };
const listenersAtStart = new Map(process.eventNames().map((name) => [name, new Set(listenersOf(name))]));

/** Tests that hide `Buffer` for a while put back its value, but not the accessor it is. */
const { Buffer } = globalThis;
const bufferAccessor = Object.getOwnPropertyDescriptor(globalThis, "Buffer");
const { defineProperty } = Reflect;

let nonce = "";
let queue = [];
let cpuAtStart;
let ending = false;

process.exit = function exit(code) {
  if (!ending) realExit(code);
  if (code !== undefined) process.exitCode = code;
  throw EXIT;
};

/** Reads one line; blocks, since nothing else is to run between two files. */
let buffered = Buffer.alloc(0);
function readRequest() {
  for (;;) {
    const end = buffered.indexOf(10);
    if (end >= 0) {
      const line = buffered.toString("utf8", 0, end);
      buffered = buffered.subarray(end + 1);
      return parse(line);
    }
    const chunk = Buffer.allocUnsafe(65536);
    const count = readSync(REQUESTS, chunk);
    if (count === 0) realExit(0);
    buffered = Buffer.concat([buffered, chunk.subarray(0, count)]);
  }
}

function next() {
  if (queue.length === 0) {
    const request = readRequest();
    nonce = request.nonce;
    queue = request.files;
    if (request.overlay !== undefined) applyOverlay(request.overlay);
  }
  const file = path.join(REPO, queue.shift());
  forgetModules();
  process.argv = [process.execPath, file];
  process.exitCode = undefined;
  cpuAtStart = cpuUsage();
  writeStdout(`\n${nonce} start\n`);
  Module._load(file, null, true);
}

/** The event loop is empty: a process of its own would end here. */
function endFile() {
  ending = true;
  // Some listeners end the process themselves, which ends the list.
  try {
    for (const listener of listenersOf("exit")) listener.call(process, process.exitCode ?? 0);
  } catch (error) {
    if (error !== EXIT) {
      ending = false;
      throw error;
    }
  }
  ending = false;
  const code = process.exitCode ?? 0;
  const { user, system } = cpuUsage(cpuAtStart);
  // Anything still to run would not run in a process that has ended.
  const alive = activeResources().some((kind) => !kind.endsWith("Wrap"));
  resetProcess();
  const polluted = snapshot.differs();
  const last = queue.length === 0;
  if (last) restoreTree();
  const touched = last && describeTree() !== tree;
  const report = { code, cpuSeconds: (user + system) / 1e6, retire: alive || polluted, touched };
  writeStdout(`\n${nonce} end ${stringify(report)}\n`, () => {
    if (report.retire || report.touched) realExit(0);
    next();
  });
}

function resetProcess() {
  if (globalThis.Buffer === Buffer) defineProperty(globalThis, "Buffer", bufferAccessor);
  for (const name of process.eventNames()) {
    const kept = listenersAtStart.get(name);
    for (const listener of listenersOf(name))
      if (!kept?.has(listener)) process.removeListener(name, listener.listener ?? listener);
  }
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
  Object.assign(process.env, environment);
  if (process.cwd() !== REPO) process.chdir(REPO);
}

function forgetModules() {
  for (const file of Object.keys(Module._cache))
    if (
      file.startsWith(`${REPO}/`) &&
      (!file.startsWith(MODULES) || TAPES.some((tape) => file.startsWith(tape)))
    )
      delete Module._cache[file];
  // Where a request leads may have changed with the tree.
  for (const key of Object.keys(Module._pathCache))
    if (!Module._pathCache[key].startsWith(MODULES)) delete Module._pathCache[key];
  module.children.length = 0;
}

// The tree: what an overlay replaced is kept and put back after the run.
let replaced = new Map();

function applyOverlay(changes) {
  for (const { path: name } of changes)
    if (!replaced.has(name)) replaced.set(name, readEntry(`${REPO}/${name}`));
  for (const change of changes) if (change.kind === "delete") removeEntry(`${REPO}/${change.path}`);
  for (const change of changes) if (change.kind !== "delete") writeEntry(`${REPO}/${change.path}`, change);
}

function restoreTree() {
  for (const name of replaced.keys()) removeEntry(`${REPO}/${name}`);
  for (const [name, entry] of replaced) if (entry !== undefined) writeEntry(`${REPO}/${name}`, entry);
  replaced = new Map();
}

function readEntry(file) {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (stat.isSymbolicLink()) return { kind: "symlink", target: readlinkSync(file) };
  return {
    kind: "write",
    content: readFileSync(file, "base64"),
    encoding: "base64",
    executable: (stat.mode & 0o100) !== 0,
  };
}

function writeEntry(file, entry) {
  // First: it takes folders that it empties along.
  removeEntry(file);
  mkdirSync(path.dirname(file), { recursive: true });
  if (entry.kind === "symlink") return symlinkSync(entry.target, file);
  writeFileSync(file, entry.content, entry.encoding);
  chmodSync(file, entry.executable ? 0o755 : 0o644);
}

function removeEntry(file) {
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return;
  unlinkSync(file);
  try {
    for (let folder = path.dirname(file); folder !== REPO; folder = path.dirname(folder)) rmdirSync(folder);
  } catch {} // not empty
}

/** Names, kinds, sizes, modes and links below the tree and /tmp; content only of what is small enough to compare. */
function describeTree() {
  const lines = [];
  const folders = [REPO, "/tmp"];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const name of readdirSync(folder).sort()) {
      const file = `${folder}/${name}`;
      if (MOUNTS.has(file)) continue;
      const stat = lstatSync(file);
      if (stat.isDirectory()) {
        folders.push(file);
        continue;
      }
      const content = stat.isFile() && stat.size < 1e6 ? readFileSync(file, "latin1") : "";
      lines.push(
        file,
        String(stat.mode),
        String(stat.size),
        stat.isSymbolicLink() ? readlinkSync(file) : content,
      );
    }
  }
  return lines.join("\0");
}

for (const tape of TAPES) if (lstatSync(tape, { throwIfNoEntry: false })) require(tape);
forgetModules();
const tree = describeTree();
const snapshot = takeSnapshot();
process.on("beforeExit", endFile);
listenersAtStart.set("beforeExit", new Set(listenersOf("beforeExit")));
next();
