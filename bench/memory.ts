/**
 * Resident memory of the stack's processes once an experiment has ended, against the limit. Looks at the running stack of the data folder when
 * an experiment has finished there (`npm start` first, to measure the quickstart), else runs the smallest one in a folder of its own.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { withRecord } from "../apps/control/index.ts";
import { dataFolder, packageRoot, readStack, stackStatus, stopStack } from "../infra/stack/index.ts";
import { listExperiments } from "../services/store/index.ts";
import { type BenchContext, type Measure, measure, temporaryFolder } from "./bench.ts";

const LIMIT_MB = 300;
const EXPERIMENT = "tests/support/smallest.yaml";

export async function run(context: BenchContext): Promise<readonly Measure[]> {
  const finished = await finishedExperiment();
  const folder = finished === null ? await runSmallest(context) : dataFolder();
  context.progress(`after ${finished ?? EXPERIMENT}, in ${folder}`);
  return processMeasures(stackStatus(folder).processes, finished ?? "the smallest experiment");
}

/** Throws when a process does not run: its memory would be missing without a word. */
export function processMeasures(
  processes: readonly { readonly name: string; readonly state: string; readonly rssMb: number | null }[],
  experiment: string,
): Measure[] {
  const here = processes.filter(({ state }) => state !== "external" && state !== "skipped");
  return here.map(({ name, state, rssMb }) => {
    if (rssMb === null) throw new Error(`${name} does not run (${state})`);
    return measure({
      name: `${name} after ${experiment}`,
      // The stack counts in MiB.
      value: (rssMb * 2 ** 20) / 1e6,
      unit: "MB",
      reference: LIMIT_MB,
      better: "lower",
      goal: 1,
    });
  });
}

/** Name of the newest one that is done on a stack that runs now, or null. */
async function finishedExperiment(): Promise<string | null> {
  if (readStack(dataFolder())?.phase !== "running") return null;
  const experiments = await withRecord(({ db }) => listExperiments(db));
  return experiments.find(({ status }) => status === "done")?.name ?? null;
}

/** Returns the data folder; its stack still runs and is stopped when the bench has ended. */
async function runSmallest(context: BenchContext): Promise<string> {
  const folder = await temporaryFolder(context);
  context.defer(() => stopStack(folder));
  context.progress(`no stack of ${dataFolder()} has finished an experiment; running ${EXPERIMENT}`);
  const child = spawn(process.execPath, ["bin/tadpole.mjs", "run", EXPERIMENT, "--name", "bench"], {
    cwd: packageRoot,
    env: { ...process.env, TADPOLE_DATA: folder },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let last = "";
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on("line", (line) => {
      if (line.trim() === "") return;
      last = line;
      context.progress(line);
    });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`tadpole run ${EXPERIMENT} ended with ${code}: ${last}`);
  return folder;
}
