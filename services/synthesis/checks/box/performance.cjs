/**
 * The check of a performance task: the workload on the base tree, which it brings along, and on the tree that is judged, by turns.
 * CPU time is what the kernel charges for the ended children, so that the code under test cannot report it. Runs in the judging box.
 */
"use strict";

const { spawnSync } = require("node:child_process");
const { randomBytes } = require("node:crypto");
const { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } = require("node:fs");
const { dirname, join } = require("node:path");
const { interval } = require("./interval.cjs");
const report = require("./tap.cjs");
const { baseTree, lay, readTree, stateOf } = require("./tree.cjs");
const { neutral, placed } = require("./workload.cjs");

/** The kernel counts in hundredths of a second: below this, they would decide. */
const LEAST_SECONDS = 0.2;
const ROOT = process.cwd();
const MODULES = join(ROOT, "node_modules");

/** CPU seconds of all children that have ended. */
function childSeconds() {
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1].split(" ");
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

/** Python's folders of the tree are named by its path; what the code leaves in a user's own folders and caches is not loaded. */
function envOf(folder) {
  const { PYTHONPATH, OLDPWD: _, ...rest } = process.env;
  const env = { ...rest, PWD: folder, PYTHONDONTWRITEBYTECODE: "1", PYTHONNOUSERSITE: "1" };
  if (PYTHONPATH === undefined) return env;
  const folders = PYTHONPATH.split(":").map((path) =>
    path === ROOT || path.startsWith(`${ROOT}/`) ? folder + path.slice(ROOT.length) : path,
  );
  return { ...env, PYTHONPATH: folders.join(":") };
}

/**
 * Both trees and, of Go, both programs, held in memory before any of their code has run. Each run gets them laid anew in one and the same
 * place, so that a run neither finds what another left behind nor can tell from its path which of them it is.
 */
function prepare({ workload, base }) {
  const text = readFileSync(workload.startsWith("/") ? workload : join(ROOT, workload), "utf8");
  const folder = join(dirname(__dirname), neutral("tree", text));
  const program = join(dirname(__dirname), neutral("program", text), neutral("file", text));
  const judged = readTree(ROOT);
  const made = [baseTree(judged, base), judged].map((tree) => {
    const { path, files, sources } = placed(workload, text, tree);
    tree.delete(workload);
    for (const [at, file] of files) tree.set(at, file);
    if (!workload.endsWith(".go"))
      return { tree, argv: [workload.endsWith(".py") ? "python3" : process.execPath, join(folder, path)] };
    lay(tree, folder, MODULES);
    mkdirSync(dirname(program), { recursive: true });
    const argv = ["build", "-o", program, ...sources.map((source) => join(folder, source))];
    const built = spawnSync("go", argv, { cwd: folder, encoding: "utf8" });
    return { tree, argv: [program], binary: built.status === 0 ? readFileSync(program) : Buffer.alloc(0) };
  });
  return { folder, program, base: made[0], judged: made[1], modules: stateOf(MODULES) };
}

/** `ok`: it ended by itself, after the workload's last line, and left the installed modules alone. */
function run({ folder, program, modules }, { tree, argv: [command, ...args], binary }) {
  lay(tree, folder, MODULES);
  rmSync(dirname(program), { recursive: true, force: true });
  mkdirSync(dirname(program), { recursive: true });
  if (binary !== undefined) writeFileSync(program, binary, { mode: 0o755 });
  const word = `\n${randomBytes(16).toString("hex")}\n`;
  const given = `${program}.word`;
  writeFileSync(given, word);
  const file = openSync(given, "r");
  rmSync(given);
  const before = childSeconds();
  const { status, stdout } = spawnSync(command, args, {
    ...{ cwd: folder, env: envOf(folder), maxBuffer: 1 << 24 },
    stdio: ["pipe", "pipe", "pipe", file],
  });
  const seconds = childSeconds() - before;
  closeSync(file);
  const printed = stdout?.toString("latin1") ?? "";
  const ended = status === 0 && printed.endsWith(word);
  return { seconds, ok: ended && stateOf(MODULES) === modules, printed: printed.slice(0, -word.length) };
}

function measure(check) {
  const { minSpeedup, looks, confidence } = check;
  const prepared = prepare(check);
  let unlike = false;
  let expected;
  const runOf = (which) => {
    const done = run(prepared, prepared[which]);
    expected ??= done.printed;
    unlike ||= !done.ok || done.printed !== expected;
    return done;
  };
  const runBase = () => runOf("base");
  const runJudged = () => runOf("judged");
  const before = runBase();
  if (!before.ok)
    return { same: false, fast: false, note: "the workload does not reach its last line on the base tree" };
  runJudged();
  if (unlike) return { same: false, fast: false, note: "" };
  if (before.seconds < LEAST_SECONDS)
    return {
      same: true,
      fast: false,
      note: `the workload takes ${before.seconds.toFixed(2)} CPU seconds on the base tree: at least ${LEAST_SECONDS} are needed`,
    };
  const ratios = [];
  let bounds;
  for (const pairs of looks) {
    while (ratios.length < pairs) {
      const judgedFirst = ratios.length % 2 === 1;
      const first = judgedFirst ? runJudged() : runBase();
      const second = judgedFirst ? runBase() : runJudged();
      if (unlike) return { same: false, fast: false, note: "" };
      const [old, now] = judgedFirst ? [second, first] : [first, second];
      ratios.push(old.seconds / Math.max(now.seconds, 0.01));
    }
    bounds = interval(ratios, confidence);
    if (bounds.low >= minSpeedup || bounds.high < minSpeedup) break;
  }
  const note = `speedup ${bounds.median.toFixed(2)} [${bounds.low.toFixed(2)}, ${bounds.high.toFixed(2)}] of ${ratios.length} pairs`;
  return { same: true, fast: bounds.low >= minSpeedup, note };
}

const check = JSON.parse(readFileSync(`${__dirname}/check.json`, "utf8"));
const { same, fast, note } = measure(check);
report("performance", [
  { name: check.names.same, ok: same },
  { name: check.names.fast, ok: fast, note },
]);
