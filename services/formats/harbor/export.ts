/** A task as a Harbor folder of schema 1.4, which runs where only Harbor is (docs/harbor.md). */
import { basename, dirname, relative } from "node:path";
import { stringify } from "smol-toml";
import type { FileChange, Statement, Task } from "../../../core/task.ts";
import type { PreparedEnvironment } from "../../environments/index.ts";
import {
  isProtected,
  limitsOf,
  protectionOf,
  STANDALONE_GRADER,
  type StandaloneTask,
  testMounts,
  toleratedFailures,
} from "../../grading/index.ts";
import { ExportError } from "../output.ts";
import { readFolder } from "./folder.ts";
import { standaloneModules } from "./modules.ts";
import { COLLECT, dockerfile, solveScript, TEST_SCRIPT, WORKDIR } from "./scripts.ts";

export interface HarborExport {
  readonly task: Task;
  readonly statement: Statement;
  readonly environment: PreparedEnvironment;
  /** Base image of the box; it holds Node and, where the tests need them, Python or Go. */
  readonly image: string;
  /** What the boxes may reach. */
  readonly network: HarborNetwork;
}

export type HarborNetwork = "no-network" | "public";

/** Harbor's agents live in the box, too, and so does the grader. */
const BOX_MEMORY_MB = 2048;
const AGENT_SECONDS = 3600;
/** The tests, and the canary on the base and on the change, each perhaps twice. */
const RUNS = 5;
/** For the start of the grader and the copy of the tree. */
const GRADER_SECONDS = 60;

/** Variables that the tests had when the environment was prepared, whatever the image says. */
const TEST_ENV = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  HOME: "/tmp",
  LANG: "C.UTF-8",
  TZ: "UTC",
  TERM: "dumb",
  NODE_OPTIONS: "--require=/tests/repeatable.cjs",
};

/** Frameworks whose tests need nothing but Node. */
const NODE_FRAMEWORKS = ["tape", "node-test", "mocha", "jest", "vitest"];

/** The image that tasks of an environment are exported on where none is given. Throws ExportError `unsupported`. */
export function defaultImage({ entry }: Pick<PreparedEnvironment, "entry">): string {
  if (NODE_FRAMEWORKS.includes(entry.framework)) return `node:${process.versions.node}-bookworm-slim`;
  throw new ExportError(
    "unsupported",
    `${entry.name}: its tests (${entry.framework}) need more than Node; give --image, of one that has Node besides`,
  );
}

/** Every file of the task's folder, relative to it. Throws ExportError `unsupported`. */
export async function harborFolder(input: HarborExport): Promise<FileChange[]> {
  const { task, statement, environment, image } = input;
  refuse(input);
  const snapshot = await readFolder(dirname(environment.root), basename(environment.root));
  const restored = restoredPaths(input);
  const mounts = await Promise.all(
    environment.mounts.map(async ({ source, target }, i) => ({
      folder: `mounts/${i}`,
      target,
      files: await readFolder(dirname(source), basename(source)),
    })),
  );
  const modules = standaloneModules(STANDALONE_GRADER);
  return [
    text("instruction.md", statement.text),
    text("task.toml", taskToml(input, mounts)),
    text("environment/Dockerfile", dockerfile(image, environment.env, mounts)),
    ...below("environment/tree", agentTree(snapshot, task)),
    ...mounts.flatMap(({ folder, files }) => below(`environment/${folder}`, files)),
    text("tests/test.sh", TEST_SCRIPT, true),
    text("tests/task.json", `${JSON.stringify(graderTask(task, environment, restored), null, 1)}\n`),
    text("tests/repeatable.cjs", REPEATABLE),
    ...below("tests/grader", modules),
    ...below(
      "tests/tree",
      snapshot.filter(({ path }) => restored.some((root) => isAt(path, root))),
    ),
    text("solution/solve.sh", solveScript(task.gold), true),
    ...below(
      "solution/tree",
      task.gold.filter(({ kind }) => kind !== "delete"),
    ),
  ];
}

/** As in the boxes that the baseline was measured in: every process draws the same random numbers. */
const REPEATABLE = `"use strict";\nrequire("node:v8").setFlagsFromString("--random-seed=20260907");\n`;

function refuse({ task, environment }: HarborExport): void {
  if (task.verifier !== undefined)
    throw new ExportError(
      "unsupported",
      `${task.id}: a task with a verifier of its own is exported by its source; the exported grader runs an environment's tests`,
    );
  if (environment.image !== null)
    throw new ExportError(
      "unsupported",
      `${task.id}: its box is an image of this host, which need not have the Node that the exported grader runs on; take the task from where it was imported`,
    );
  const escaping = [...task.base, ...task.gold].find(
    ({ path }) => path.startsWith("/") || path.split("/").includes(".."),
  );
  if (escaping !== undefined)
    throw new ExportError("unsupported", `${task.id}: ${escaping.path} is no path of the tree`);
}

const text = (path: string, content: string, executable = false): FileChange => ({
  kind: "write",
  path,
  content,
  encoding: "utf8",
  ...(executable ? { executable } : {}),
});

const below = (folder: string, files: readonly FileChange[]): FileChange[] =>
  files.map((file) => ({ ...file, path: `${folder}/${file.path}` }));

/** What the agent starts from: the base tree without hidden tests. */
export function agentTree(
  snapshot: readonly FileChange[],
  task: Pick<Task, "base" | "hiddenFiles">,
): FileChange[] {
  const tree = new Map(snapshot.map((file) => [file.path, file]));
  for (const change of task.base) tree.set(change.path, change);
  for (const path of task.hiddenFiles) tree.delete(path);
  return [...tree.values()]
    .filter(({ kind }) => kind !== "delete")
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

const isAt = (path: string, root: string): boolean => path === root || path.startsWith(`${root}/`);

/** What the environment decides, whatever the task's base or a change makes of it. The longer of two that contain each other is in the other. */
function restoredPaths({ task, environment }: Pick<HarborExport, "task" | "environment">): string[] {
  const protection = protectionOf({ environment, task });
  const inBase = task.base.map(({ path }) => path).filter((path) => isProtected(path, protection));
  const paths = [...new Set([...testMounts(environment.entry), ...task.hiddenFiles, ...inBase])].sort();
  return paths.filter((path) => !paths.some((other) => other !== path && isAt(path, other)));
}

function graderTask(
  task: Task,
  environment: PreparedEnvironment,
  restored: readonly string[],
): StandaloneTask {
  const { cpuSeconds, wallSeconds } = limitsOf(environment);
  const { entry } = environment;
  const { failToPass, passToPass } = task;
  const { roots, allowed } = protectionOf({ environment, task });
  const fixed = [...environment.mounts.flatMap(({ target }) => inTree(target)), ...roots];
  return {
    workdir: WORKDIR,
    agentArchive: COLLECT.archive,
    tests: "/tests/tree",
    restored,
    fixed: fixed.filter((path) => !restored.some((root) => isAt(path, root))),
    allowed: [...allowed],
    failToPass,
    passToPass,
    tolerated: toleratedFailures(environment),
    commands: environment.commands,
    entry: { framework: entry.framework, sources: entry.sources, tests: entry.tests },
    env: { ...TEST_ENV, ...environment.env },
    cpuSeconds,
    wallSeconds,
  };
}

const inTree = (target: string): string[] =>
  target.startsWith(`${WORKDIR}/`) ? [relative(WORKDIR, target)] : [];

function taskToml(
  { task, statement, environment, network }: HarborExport,
  mounts: readonly { readonly target: string }[],
): string {
  const { wallSeconds, limits } = limitsOf(environment);
  return `${stringify({
    schema_version: "1.4",
    artifacts: [],
    task: {
      name: `tadpole/${task.id}`,
      description: `${task.type} in ${environment.entry.name}`,
      authors: [],
      keywords: [],
    },
    metadata: {
      tadpole: {
        type: task.type,
        level: statement.level,
        generator: task.generator,
        environment: environment.key,
        source: environment.entry.source,
        functions: [...task.functions],
      },
    },
    agent: { timeout_sec: AGENT_SECONDS },
    verifier: {
      timeout_sec: RUNS * Math.ceil(wallSeconds) + GRADER_SECONDS,
      environment_mode: "separate",
      collect: [{ command: COLLECT.command(mounts.flatMap(({ target }) => inTree(target))) }],
    },
    environment: { network_mode: network, memory_mb: Math.max(BOX_MEMORY_MB, 2 * limits.memoryMb) },
  })}\n`;
}
