/** One task of a real package for the benches of sandboxes: a drawn mistake that its tests notice, and what an agent does about it. */
import type { FileChange, Statement, Task } from "../core/task.ts";
import { environmentFiles, type PreparedEnvironment } from "../services/environments/index.ts";
import { createGrading, limitsOf } from "../services/grading/index.ts";
import type { SandboxRuntime } from "../services/sandbox/index.ts";
import { mutatedTrees } from "./grading.ts";

/** Edits that are tried; most are noticed. */
const CANDIDATES = 20;

/** Throws where no drawn edit fails a test and leaves others passing. */
export async function benchTask(environment: PreparedEnvironment, runtime: SandboxRuntime): Promise<Task> {
  const grading = createGrading({ runtime });
  const { entry, baseline, key } = environment;
  const files = await environmentFiles(environment);
  const passing = Object.keys(baseline).filter((test) => baseline[test] === "passed");
  for (const base of mutatedTrees(entry.sources, files, CANDIDATES)) {
    const request = { environment, overlay: base, ...limitsOf(environment) };
    const { report, ended } = await grading.runTests(request, "cold");
    const passed = new Set(passing.filter((test) => report.statuses[test] === "passed"));
    if (!ended || !report.complete || passed.size === 0 || passed.size === passing.length) continue;
    return {
      id: "t0000000000000000",
      environment: key,
      type: "bug",
      generator: "mutation",
      base,
      gold: base.map(({ path }) => ({ kind: "write", path, content: files.get(path)!, encoding: "utf8" })),
      hiddenFiles: [],
      failToPass: passing.filter((test) => !passed.has(test)),
      passToPass: [...passed],
      functions: [],
      facts: { sites: [], reproduction: null },
    };
  }
  throw new Error(`${entry.name}: none of ${CANDIDATES} edits fails a test`);
}

export const benchStatement = ({ id, base }: Task): Statement => ({
  taskId: id,
  level: 1,
  text: `Something is wrong in ${base.map(({ path }) => path).join(", ")}.\n`,
  hash: "",
});

/** Ten commands: look around, run a test, correct the file (or only write to it), run the test again. */
export function agentCommands(
  { gold }: Task,
  environment: PreparedEnvironment,
  outcome: "solved" | "unsolved",
): readonly string[] {
  const [{ path }] = gold as [FileChange];
  const [test] = environment.entry.tests as [string];
  const correct = gold
    .filter((change) => change.kind === "write")
    .map((change) => `printf %s ${quoted(change.content)} >${quoted(change.path)}`);
  return [
    "ls -la",
    "cat package.json",
    "git --version",
    `wc -l ${quoted(path)}`,
    `cat ${quoted(path)}`,
    `grep -n function ${quoted(path)}`,
    "find . -name '*.js' -not -path './node_modules/*' | head -50",
    `node ${quoted(test)} | tail -5`,
    outcome === "solved" ? correct.join(" && ") : `echo "// To be corrected." >>${quoted(path)}`,
    `node ${quoted(test)} | tail -5`,
  ];
}

export const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
