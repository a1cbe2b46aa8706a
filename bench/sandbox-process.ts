/** What the process runtime adds to a command: `exec` against bubblewrap alone, started with the very same arguments. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createProcessRuntime, type ExecLimits } from "../services/sandbox/index.ts";
import { commandEnv } from "../services/sandbox/inside.ts";
import { sandboxName } from "../services/sandbox/label.ts";
import { bwrapArguments } from "../services/sandbox/process/command.ts";
import { STATUS_FD } from "../services/sandbox/process/run.ts";
import { findSystem } from "../services/sandbox/process/system.ts";
import { type BenchContext, type Measure, measure, temporaryFolder } from "./bench.ts";
import { interleaved, medians, timed } from "./repeat.ts";
import { benchIdentity, smallSpec } from "./sandbox-spec.ts";

/** One that does nothing, where all the time is overhead, and one as agents and graders run them. */
const COMMANDS = [
  { name: "true", argv: ["true"], rounds: 200, quickRounds: 20 },
  { name: "node -e 'console.log(1)'", argv: ["node", "-e", "console.log(1)"], rounds: 80, quickRounds: 10 },
] as const;
const WARM_UP_ROUNDS = 3;
const GOAL = 1.2;

const LIMITS: ExecLimits = { timeoutSeconds: 60, cpuSeconds: 60, outputBytes: 2 ** 20 };

export async function commandOverhead(context: BenchContext): Promise<Measure[]> {
  const folder = await temporaryFolder(context);
  const options = { root: join(folder, "sandboxes"), nodePath: process.execPath };
  const runtime = createProcessRuntime(options);
  const reason = await runtime.unavailable();
  if (reason !== null) throw new Error(reason);
  const identity = benchIdentity("command");
  const spec = smallSpec(folder);
  const sandbox = await runtime.create(spec, identity);
  context.defer(() => sandbox.destroy());

  const system = findSystem(options);
  const inside = join(options.root, sandboxName(identity));
  const bare = (argv: readonly string[]) => {
    const folders = { tree: join(inside, "tree"), tmp: join(inside, "tmp") };
    const limits = { sandbox: spec.limits, exec: LIMITS };
    const args = bwrapArguments(system, folders, spec.mounts, STATUS_FD, limits, argv);
    return runBare(system.bwrap, args, commandEnv(spec));
  };

  const measures: Measure[] = [];
  for (const { name, argv, rounds, quickRounds } of COMMANDS) {
    const sides = {
      subject: () => timed(async () => (await sandbox.exec(argv, LIMITS)).exitCode),
      reference: () => timed(() => bare(argv)),
    };
    await interleaved(WARM_UP_ROUNDS, sides);
    const results = await interleaved(context.quick ? quickRounds : rounds, sides);
    const failed = [...results.subject, ...results.reference].find(({ value }) => value !== 0);
    if (failed !== undefined) throw new Error(`${name}: exit code ${failed.value}, expected 0`);
    const { subject, reference } = medians(results, ({ seconds }) => seconds * 1000);
    context.progress(`${name}: ${subject.toFixed(2)} ms, bare ${reference.toFixed(2)} ms`);
    measures.push(measure({ name, value: subject, unit: "ms", reference, better: "lower", goal: GOAL }));
  }
  return measures;
}

/** As little as a program can do around bwrap: start it, read its pipes to the end, wait. Returns the exit code. */
function runBare(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, cwd: "/", stdio: ["ignore", "pipe", "pipe", "pipe"] });
    for (const stream of child.stdio.slice(1)) stream?.on("data", () => {});
    child.once("error", reject);
    child.once("close", resolve);
  });
}
