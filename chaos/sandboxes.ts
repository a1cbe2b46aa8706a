/** `npm run chaos -- sandboxes`: the sandbox worker killed while many sandboxes live, for each runtime, beside an undisturbed run. */
import { join } from "node:path";
import { UsageError } from "../apps/cli/errors.ts";
import { codeVersion } from "../apps/control/index.ts";
import { SANDBOX_RUNTIMES, type SandboxRuntimeName } from "../core/experiment.ts";
import { hostOptions, packageRoot } from "../infra/stack/index.ts";
import { createRuntime } from "../services/sandbox/index.ts";
import { CrowdKill } from "./crowd.ts";
import { type CrowdReport, crowdExitCode, crowdReport, renderCrowd } from "./crowd-report.ts";
import { inFolder } from "./folder.ts";
import { loadSettings, parseOptions, wholeNumber } from "./options.ts";
import { runOnce } from "./run.ts";

export const SANDBOXES_HELP = `Usage: npm run chaos -- sandboxes [--live N] [--runtime R] [options]

Kills the sandbox worker while N sandboxes of rollouts live, has a quarter of them go with it, lets the supervisor start the next worker, and
compares the run with an undisturbed one: verdicts, trees, turns, every policy file, and what is left.

Options:
  --live N             sandboxes that live at the kill (default 32)
  --runtime R          ${SANDBOX_RUNTIMES.join(", ")} or all (default all)
  --seed S             seed of the moment and of which sandboxes go (default 1); the experiment keeps its own
  --json               write the reports as JSON
  --keep               keep the data folders
  -h, --help           show this

Exit codes: 0 equal and nothing lost or left, 1 any difference, loss or leak, or fewer live sandboxes than asked for, 2 bad input.
`;

const NAME = "chaos";

/** More rollouts than have to live: some end sooner than the last one boots. */
const SPARE = 1.25;

/** Gradings beside them. */
const MORE_SLOTS = 4;

interface Options {
  readonly live: number;
  readonly seed: number;
  readonly keep: boolean;
}

/** Throws UsageError. */
export async function sandboxes(args: readonly string[]): Promise<number> {
  const { live, seed, runtime, json, keep, help } = parseOptions(args, {
    live: { type: "string", default: "32" },
    seed: { type: "string", default: "1" },
    runtime: { type: "string", default: "all" },
    json: { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
    help: { type: "boolean", short: "h", default: false },
  });
  if (help) {
    process.stdout.write(SANDBOXES_HELP);
    return 0;
  }
  const options = {
    live: wholeNumber("--live", live, 1000, 1),
    seed: wholeNumber("--seed", seed, Number.MAX_SAFE_INTEGER),
    keep,
  };
  const reports: CrowdReport[] = [];
  for (const name of runtimesOf(runtime)) {
    const report = await drill(name, options);
    reports.push(report);
    if (!json) process.stdout.write(`${renderCrowd(report)}\n\n`);
  }
  if (json) process.stdout.write(`${JSON.stringify(reports, null, 2)}\n`);
  return Math.max(...reports.map(crowdExitCode));
}

function runtimesOf(text: string): readonly SandboxRuntimeName[] {
  if (text === "all") return SANDBOX_RUNTIMES;
  const known = SANDBOX_RUNTIMES.find((name) => name === text);
  if (known === undefined)
    throw new UsageError(`--runtime ${JSON.stringify(text)}: expected ${SANDBOX_RUNTIMES.join(", ")} or all`);
  return [known];
}

async function drill(runtime: SandboxRuntimeName, { live, seed, keep }: Options): Promise<CrowdReport> {
  const size = Math.ceil(live * SPARE);
  const settings = await loadSettings(join(packageRoot, "chaos/sandboxes.yaml"), [
    `climb.groupSize=${Math.max(2, size)}`,
    `sandbox.runtime=${runtime}`,
  ]);
  const say = (run: string) => (line: string) => void process.stderr.write(`${runtime}  ${run}  ${line}\n`);
  return inFolder(keep, async (folder) => {
    const reason = await createRuntime(runtime, hostOptions(folder)).unavailable();
    if (reason !== null) throw new UsageError(`--runtime ${runtime}: ${reason}`);
    const env = { TADPOLE_SANDBOX_SLOTS: String(size + MORE_SLOTS) };
    const common = { name: NAME, settings, codeVersion: await codeVersion(), env };
    const undisturbed = await runOnce({
      ...{ ...common, folder: join(folder, "undisturbed") },
      ...{ disturbance: null, say: say("undisturbed") },
    });
    const crowd = new CrowdKill({ runtime, experiment: NAME, live, seed, say: say("disturbed  ") });
    const disturbed = await runOnce({
      ...{ ...common, folder: join(folder, "disturbed") },
      ...{ disturbance: crowd, say: say("disturbed  ") },
    });
    return crowdReport({ seed, runtime, live }, crowd, undisturbed, disturbed);
  });
}
