/**
 * The one rule as a program of its own, for boxes that Tadpole does not run: `node standalone.mjs <task.json> <folder>` puts an agent's tree on
 * the task's base, as far as the change may decide, runs the tests and writes `reward.json` and `verdict.json` into the folder. It uses
 * nothing but Node and tar: what it imports besides are the rule's own pure files, which exporters put beside it.
 */
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { TestCommand } from "../../core/task.ts";
import type { ExecResult } from "../sandbox/runtime.ts";
import { canariesOf, NONE, saidBy, TAMPERED, toldTheTruth } from "./canary.ts";
import { CommandResults } from "./command-results.ts";
import { isProtected } from "./protected-paths.ts";
import type { StandaloneTask } from "./standalone-task.ts";
import { type Decision, decide } from "./verdict.ts";

/** Every file and link below a folder, relative to it. */
function filesBelow(folder: string): Set<string> {
  const found = new Set<string>();
  const visit = (prefix: string): void => {
    for (const entry of readdirSync(join(folder, prefix), { withFileTypes: true })) {
      const path = join(prefix, entry.name);
      if (entry.isDirectory()) visit(path);
      else if (entry.isFile() || entry.isSymbolicLink()) found.add(path);
    }
  };
  visit("");
  return found;
}

const exists = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** Folders on the way to `path` are made where they are not, in the place of whatever else is there. */
function clearWay(root: string, path: string): void {
  const parent = dirname(path);
  if (parent !== ".") {
    clearWay(root, parent);
    const info = lstatSync(join(root, parent), { throwIfNoEntry: false });
    if (info?.isDirectory() !== true) {
      rmSync(join(root, parent), { force: true });
      mkdirSync(join(root, parent));
    }
  }
}

function put(from: string, to: string, path: string): void {
  clearWay(to, path);
  const source = join(from, path);
  const target = join(to, path);
  rmSync(target, { recursive: true, force: true });
  const info = lstatSync(source);
  if (info.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
  else {
    writeFileSync(target, readFileSync(source));
    chmodSync(target, (info.mode & 0o111) === 0 ? 0o644 : 0o755);
  }
}

/** The base tree becomes the agent's, but for what a change may not decide. */
function applyChange(task: StandaloneTask, agentTree: string): void {
  const protection = {
    roots: [...task.restored, ...task.fixed],
    allowed: new Set(task.allowed),
    formats: new Set(task.commands.map(({ format }) => format)),
  };
  const wanted = filesBelow(agentTree);
  for (const path of filesBelow(task.workdir))
    if (!wanted.has(path) && !isProtected(path, protection)) rmSync(join(task.workdir, path));
  for (const path of [...wanted].sort())
    if (!isProtected(path, protection)) put(agentTree, task.workdir, path);
}

function restoreTests({ workdir, tests, restored }: StandaloneTask): void {
  for (const root of restored) {
    rmSync(join(workdir, root), { recursive: true, force: true });
    if (!exists(join(tests, root))) continue;
    clearWay(workdir, root);
    cpSync(join(tests, root), join(workdir, root), { recursive: true, verbatimSymlinks: true });
  }
}

interface RunLimits {
  readonly timeoutSeconds: number;
  readonly cpuSeconds: number;
  readonly outputBytes: number;
}

/** Output goes to files: pipes lose what a process had not written when it died. */
function run(task: StandaloneTask, { argv }: TestCommand, limits: RunLimits, scratch: string): ExecResult {
  const streams = ["stdout", "stderr"].map((name) => openSync(join(scratch, name), "w+"));
  const started = process.hrtime.bigint();
  // `timeout` kills the whole group; Node would kill the shell alone.
  const cpu = Math.ceil(limits.cpuSeconds);
  const shell = ["-c", `ulimit -Ht ${cpu + 1}; ulimit -St ${cpu}; exec "$@"`, "sh", ...argv];
  const ended = spawnSync("timeout", ["-s", "KILL", String(limits.timeoutSeconds), "sh", ...shell], {
    cwd: task.workdir,
    env: task.env,
    stdio: ["ignore", ...(streams as [number, number])],
  });
  if (ended.error) throw ended.error;
  const wallSeconds = Number(process.hrtime.bigint() - started) / 1e9;
  const [stdout, stderr] = streams.map((fd) => readStart(fd, limits.outputBytes)) as [Uint8Array, Uint8Array];
  const [stdoutTruncated, stderrTruncated] = ["stdout", "stderr"].map(
    (name) => statSync(join(scratch, name)).size > limits.outputBytes,
  ) as [boolean, boolean];
  for (const fd of streams) closeSync(fd);
  const code = ended.status === null || ended.status > 128 ? null : ended.status;
  const killed = code === null && wallSeconds >= limits.timeoutSeconds;
  return {
    exitCode: code,
    signal: code === null ? (ended.signal ?? `${(ended.status ?? 128) - 128}`) : null,
    ...{ stdout, stderr, stdoutTruncated, stderrTruncated },
    timedOut: killed,
    cpuExceeded: ended.signal === "SIGXCPU" || ended.status === XCPU_STATUS,
    outOfMemory: false,
    cpuSeconds: 0,
    wallSeconds,
  };
}

/** 128 + SIGXCPU, as a shell in between reports it. */
const XCPU_STATUS = 152;

function readStart(fd: number, bytes: number): Uint8Array {
  const buffer = Buffer.alloc(bytes);
  return buffer.subarray(0, readSync(fd, buffer, 0, bytes, 0));
}

function runTests(task: StandaloneTask, scratch: string): ReturnType<CommandResults["result"]> {
  const results = new CommandResults(task);
  for (const command of task.commands) {
    if (results.stoppedBy !== undefined) break;
    const file = command.reportFile === null ? null : resolve(task.workdir, command.reportFile);
    if (file !== null) rmSync(file, { recursive: true, force: true });
    const result = run(task, command, results.remaining(command), scratch);
    const text =
      file === null ? undefined : { text: exists(file) ? readFileSync(file, "utf8") : "", cut: false };
    results.add(command, result, text);
  }
  return results.result();
}

type Canary = ReturnType<typeof canariesOf>[number];

/** Of the tree as it is now. */
const canariesNow = (task: StandaloneTask): readonly Canary[] =>
  canariesOf({ ...task, root: task.workdir }, randomBytes(6).toString("hex"));

/** Nothing of it stays in the tree. */
function runCanary(task: StandaloneTask, { file, command }: Canary, scratch: string) {
  clearWay(task.workdir, file.path);
  if (file.kind === "write") writeFileSync(join(task.workdir, file.path), file.content);
  const result = runTests({ ...task, commands: [command] }, scratch);
  rmSync(join(task.workdir, file.path.split("/")[0]!), { recursive: true, force: true });
  return result;
}

/** By the tests, and by what must fail where they passed; `honest`: the first canary of which the base tree says the truth, -1 = none. */
function judge(task: StandaloneTask, scratch: string, honest: number) {
  const ran = runTests(task, scratch);
  const found = { decision: decide(task, ran, task.tolerated) as Decision, statuses: ran.report.statuses };
  if (found.decision.outcome !== "passed") return found;
  for (const canary of honest < 0 ? [] : canariesNow(task).slice(honest)) {
    const said = saidBy(runCanary(task, canary, scratch));
    if (said !== undefined) return said === "lie" ? { ...found, decision: TAMPERED } : found;
  }
  return { ...found, noCanary: honest < 0 ? NONE.dishonest : NONE.silent };
}

function main([taskFile = "task.json", folder = "/logs/verifier"]: readonly string[]): void {
  const task = JSON.parse(readFileSync(taskFile, "utf8")) as StandaloneTask;
  const scratch = mkdtempSync(join(tmpdir(), "grading-"));
  const agentTree = join(scratch, "tree");
  mkdirSync(agentTree);
  const unpacked = spawnSync("tar", ["-xf", task.agentArchive, "-C", agentTree, "--no-same-owner"], {
    stdio: "inherit",
  });
  if (unpacked.status !== 0) throw new Error(`${task.agentArchive}: the agent's tree cannot be unpacked`);
  const honest = canariesNow(task).findIndex((canary) => toldTheTruth(runCanary(task, canary, scratch)));
  applyChange(task, agentTree);
  restoreTests(task);
  const { decision, ...found } = judge(task, scratch, honest);
  mkdirSync(folder, { recursive: true });
  const write = (name: string, value: object) =>
    writeFileSync(join(folder, name), `${JSON.stringify(value, null, 1)}\n`);
  write("verdict.json", { ...decision, ...found });
  write("reward.json", { reward: decision.outcome === "passed" ? 1 : 0 });
  console.log(`${decision.outcome} (${decision.rule})${["", ...decision.offending].join("\n  ")}`);
}

main(process.argv.slice(2));
