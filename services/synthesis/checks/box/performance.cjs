/**
 * The check of a performance task: the workload on the base tree, which it brings along, and on the tree that is judged, by turns.
 * CPU time is what the kernel charges for the ended children, so that the code under test cannot report it. Runs in the judging box.
 */
"use strict";

const { spawnSync } = require("node:child_process");
const {
  cpSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  existsSync,
} = require("node:fs");
const { dirname, join } = require("node:path");
const { interval } = require("./interval.cjs");
const report = require("./tap.cjs");

/** The kernel counts in hundredths of a second: below this, they would decide. */
const LEAST_SECONDS = 0.2;
const BASE = join(__dirname, "base");
const ROOT = process.cwd();

/** CPU seconds of all children that have ended. */
function childSeconds() {
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1].split(" ");
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

/** Before each run: the judged tree's code may have written here. */
function layBase(files) {
  for (const { path, content } of files) {
    mkdirSync(dirname(join(BASE, path)), { recursive: true });
    writeFileSync(join(BASE, path), Buffer.from(content, "base64"));
  }
}

function copyTree({ files }) {
  const skip = new Set([join(ROOT, "node_modules"), join(ROOT, ".git")]);
  cpSync(ROOT, BASE, { recursive: true, filter: (path) => !skip.has(path) });
  if (existsSync(join(ROOT, "node_modules")))
    symlinkSync(join(ROOT, "node_modules"), join(BASE, "node_modules"));
  layBase(files);
}

function programOf(workload, root) {
  const path = workload.startsWith("/") ? workload : join(root, workload);
  if (!workload.endsWith(".go")) return [workload.endsWith(".py") ? "python3" : process.execPath, path];
  const program = join(__dirname, root === BASE ? "base.bin" : "judged.bin");
  const built = spawnSync("go", ["build", "-o", program, path], { cwd: root, encoding: "utf8" });
  return built.status === 0 ? [program] : ["false", built.stderr];
}

/** Python's folders of the tree are named by its path. */
function envOf(root) {
  const { PYTHONPATH } = process.env;
  if (PYTHONPATH === undefined || root === ROOT) return process.env;
  const folders = PYTHONPATH.split(":").map((path) =>
    path === ROOT || path.startsWith(`${ROOT}/`) ? root + path.slice(ROOT.length) : path,
  );
  return { ...process.env, PYTHONPATH: folders.join(":") };
}

function run([command, ...args], root) {
  const before = childSeconds();
  const { status, stdout } = spawnSync(command, args, { cwd: root, env: envOf(root), maxBuffer: 1 << 24 });
  return { seconds: childSeconds() - before, ok: status === 0, printed: stdout?.toString("latin1") ?? "" };
}

function measure({ workload, minSpeedup, looks, confidence, base }) {
  copyTree(base);
  const programs = { base: programOf(workload, BASE), judged: programOf(workload, ROOT) };
  const runBase = () => {
    layBase(base.files);
    return run(programs.base, BASE);
  };
  const runJudged = () => run(programs.judged, ROOT);
  const [before, after] = [runBase(), runJudged()];
  const same = before.ok && after.ok && before.printed === after.printed;
  if (!same) return { same, fast: false, note: before.ok ? "" : "the workload fails on the base tree" };
  if (before.seconds < LEAST_SECONDS)
    return {
      same,
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
      const [old, now] = judgedFirst ? [second, first] : [first, second];
      ratios.push(old.seconds / Math.max(now.seconds, 0.01));
    }
    bounds = interval(ratios, confidence);
    if (bounds.low >= minSpeedup || bounds.high < minSpeedup) break;
  }
  const note = `speedup ${bounds.median.toFixed(2)} [${bounds.low.toFixed(2)}, ${bounds.high.toFixed(2)}] of ${ratios.length} pairs`;
  return { same, fast: bounds.low >= minSpeedup, note };
}

const check = JSON.parse(readFileSync(`${__dirname}/check.json`, "utf8"));
rmSync(BASE, { recursive: true, force: true });
const { same, fast, note } = measure(check);
report("performance", [
  { name: check.names.same, ok: same },
  { name: check.names.fast, ok: fast, note },
]);
