/**
 * Recorders: test runs that note which calls of the package a test makes. A preload of the interpreter is mounted beside the tree
 * and notes; where there is none for a framework, its tasks have no reproduction.
 */
import { fileURLToPath } from "node:url";
import type { TestCommand } from "../../core/task.ts";
import type { Framework, PreparedEnvironment } from "../environments/types.ts";
import { limitsOf, parseTap } from "../grading/index.ts";
import { type Dialect, node, python } from "./dialects.ts";
import { type Recording, readNotes, readTestNotes } from "./recording.ts";
import { inSandbox, limited, type TrialParts, type TrialRequest } from "./trials.ts";

export interface Recorder {
  readonly dialect: Dialect;
  /** What one run records: a test file under tape, a command elsewhere. */
  units(environment: PreparedEnvironment, hiddenFiles: readonly string[]): readonly string[];
  /** Empty where the preload found nothing to hook. */
  record(parts: TrialParts, request: TrialRequest, unit: string): Promise<Recording>;
}

const NOTES = "/tmp/recorder.jsonl";
const sourceOf = (file: string) => fileURLToPath(new URL(`./${file}`, import.meta.url));
const NODE_PRELOAD = { source: sourceOf("recorder.cjs"), target: "/recorder.cjs" };
/** The interpreter looks for a module of this name when it starts. */
const PYTHON_PRELOAD = { source: sourceOf("recorder.py"), target: "/recorder/sitecustomize.py" };

/** CPU seconds of a recorded run: that of an untouched run, tenfold, for the notes are not free. */
const recordingSeconds = (environment: PreparedEnvironment) => 10 + 10 * environment.cpuSeconds;

interface Run {
  readonly argv: readonly string[];
  readonly preload: typeof NODE_PRELOAD;
  readonly settings: object;
  readonly variables: readonly string[];
}

async function noted(
  { runtime }: TrialParts,
  request: TrialRequest,
  { argv, preload, settings, variables }: Run,
): Promise<{ readonly notes: string; readonly stdout: string }> {
  const { environment, signal } = request;
  const { limits } = limitsOf(environment);
  return inSandbox({ runtime, limits }, { ...request, mounts: [preload] }, async (sandbox) => {
    const record = JSON.stringify({ root: sandbox.workdir, out: NOTES, ...settings });
    const result = await sandbox.exec(
      ["env", `TADPOLE_RECORD=${record}`, ...variables, ...argv],
      limited(recordingSeconds(environment), signal),
    );
    const notes = await sandbox.read(NOTES).catch(() => new Uint8Array());
    return {
      notes: Buffer.from(notes).toString("utf8"),
      stdout: Buffer.from(result.stdout).toString("utf8"),
    };
  });
}

const tape: Recorder = {
  dialect: node,
  units: (_environment, hiddenFiles) => hiddenFiles,
  record: async (parts, request, testFile) => {
    const { notes, stdout } = await noted(parts, request, {
      argv: ["node", "--require", NODE_PRELOAD.target, testFile],
      preload: NODE_PRELOAD,
      settings: { tests: request.environment.entry.tests },
      variables: [],
    });
    return readNotes(notes, Object.keys(parseTap(stdout, testFile).statuses));
  },
};

/** A recorder of whole commands, whose notes name their tests. */
function byCommand(
  dialect: Dialect,
  preload: typeof NODE_PRELOAD,
  variables: (environment: PreparedEnvironment) => readonly string[],
): Recorder {
  return {
    dialect,
    units: ({ commands }) => commands.map((_, i) => String(i)),
    record: async (parts, request, unit) => {
      const { environment } = request;
      const { argv, scope }: TestCommand = environment.commands[Number(unit)]!;
      const { sources, tests } = environment.entry;
      const { notes } = await noted(parts, request, {
        argv,
        preload,
        settings: { sources, tests, append: true },
        variables: variables(environment),
      });
      return readTestNotes(notes, scope);
    },
  };
}

const pythonTests = byCommand(python, PYTHON_PRELOAD, ({ env }) => [
  `PYTHONPATH=${["/recorder", ...(env.PYTHONPATH ?? "").split(":")].join(":")}`,
]);

/** Jest and Vitest load modules by loaders of their own, which a preload does not see. */
const nodeTests = byCommand(node, NODE_PRELOAD, () => [`NODE_OPTIONS=--require ${NODE_PRELOAD.target}`]);

const RECORDERS: Partial<Record<Framework, Recorder>> = {
  tape,
  mocha: nodeTests,
  "node-test": nodeTests,
  pytest: pythonTests,
  unittest: pythonTests,
};

export function recorderOf(environment: PreparedEnvironment): Recorder | null {
  return RECORDERS[environment.entry.framework] ?? null;
}
