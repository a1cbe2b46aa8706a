/** `npm run chaos`: one experiment twice, once undisturbed and once with processes of its stack killed on the way, and what differs. */
import { join } from "node:path";
import { describeError, UsageError } from "../apps/cli/errors.ts";
import { codeVersion } from "../apps/control/index.ts";
import type { ExperimentSettings } from "../core/experiment.ts";
import { packageRoot } from "../infra/stack/index.ts";
import { startAuthor } from "./author.ts";
import { type ChaosReport, compare, exitCodeOf, renderReport } from "./compare.ts";
import { Disturbance } from "./disturbance.ts";
import { inFolder } from "./folder.ts";
import { loadSettings, parseOptions, wholeNumber } from "./options.ts";
import { type Outage, parseOutage, parseTargets, planKills, TARGETS, type Target } from "./plan.ts";
import { type RunOptions, runOnce } from "./run.ts";
import { sandboxes } from "./sandboxes.ts";

const HELP = `Usage: npm run chaos -- [--seed S] [--kills N] [options]
       npm run chaos -- sandboxes [--live N] [--runtime R] [options]

Runs an experiment twice, each in a data folder and a stack of its own: once undisturbed, once with N SIGKILLs at seeded moments over
Temporal, Postgres, the policy server and the workers (the gpu worker trains). Then compares the record, every policy file, and what is left.

Options:
  --seed S             seed of the moments and of who is killed (default 1); the experiment keeps its own
  --kills N            how many SIGKILLs (default 30)
  --target NAMES       who is killed, of temporal, postgres, policy, orchestrate, sandbox and gpu, with commas (default: all)
  --author NAME        start the scripted author of that personality beside each run (good, slow, …) and put its address into
                       synthesis.author.baseUrl
  --experiment F       a YAML file, or the name of a bundled experiment (default: chaos/chaos.yaml, about a minute)
  --outage NAME:SEC    kill postgres or temporal in the middle of a climb and keep it down for SEC seconds; may be repeated
  --json               write the report as JSON
  --keep               keep both data folders
  -h, --help           show this

Exit codes: 0 equal and nothing lost or left, 1 any difference or leak, or fewer kills than asked for, 2 bad input.
`;

/** Both runs use it: a record names its experiment in every key. */
const NAME = "chaos";

interface Options {
  readonly seed: number;
  readonly kills: number;
  readonly targets: readonly Target[];
  readonly author: string | null;
  readonly experiment: string;
  readonly outages: readonly Outage[];
  readonly json: boolean;
  readonly keep: boolean;
  readonly help: boolean;
}

/** Throws UsageError. */
function readOptions(args: readonly string[]): Options {
  const { seed, kills, outage, target, author, ...rest } = parseOptions(args, {
    seed: { type: "string", default: "1" },
    kills: { type: "string", default: "30" },
    target: { type: "string", default: TARGETS.join(",") },
    author: { type: "string" },
    experiment: { type: "string", default: join(packageRoot, "chaos/chaos.yaml") },
    outage: { type: "string", multiple: true, default: [] },
    json: { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
    help: { type: "boolean", short: "h", default: false },
  });
  return {
    ...rest,
    seed: wholeNumber("--seed", seed, Number.MAX_SAFE_INTEGER),
    kills: wholeNumber("--kills", kills, 10_000),
    targets: asUsage(() => parseTargets(target)),
    author: author ?? null,
    outages: outage.map((text) => asUsage(() => parseOutage(text))),
  };
}

function asUsage<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

async function chaos(
  options: Options,
  settings: ExperimentSettings,
  author: RunOptions["author"],
  folder: string,
): Promise<ChaosReport> {
  const say = (run: string) => (line: string) => void process.stderr.write(`${run}  ${line}\n`);
  const common = { name: NAME, settings, author: author ?? null, codeVersion: await codeVersion() };
  const undisturbed = await runOnce({
    ...common,
    folder: join(folder, "undisturbed"),
    disturbance: null,
    say: say("undisturbed"),
  });
  const disturbance = new Disturbance({
    kills: planKills(options.seed, options.kills, undisturbed.profile, options.targets),
    outages: options.outages,
    climbs: { iterations: settings.iterations, updates: settings.climb.updates },
    say: say("disturbed  "),
  });
  const disturbed = await runOnce({
    ...common,
    folder: join(folder, "disturbed"),
    disturbance,
    say: say("disturbed  "),
  });
  return compare(options.seed, undisturbed, disturbed, {
    planned: options.kills,
    killsLeft: disturbance.killsLeft,
    killed: disturbance.killed,
    outages: disturbance.outages,
    plannedOutages: options.outages.length,
  });
}

/** The port is found once: both runs have the same settings, so the author of each answers there. Throws UsageError. */
async function authorOf(personality: string): Promise<NonNullable<RunOptions["author"]>> {
  try {
    const author = await startAuthor(personality, 0);
    await author.stop();
    return { personality, port: Number(new URL(author.url).port) };
  } catch (error) {
    throw new UsageError(`--author: ${(error as Error).message}`, { cause: error });
  }
}

async function kills(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const author = options.author === null ? null : await authorOf(options.author);
  const set = author === null ? [] : [`synthesis.author.baseUrl=http://127.0.0.1:${author.port}/v1`];
  const settings = await loadSettings(options.experiment, set);
  const report = await inFolder(options.keep, (folder) => chaos(options, settings, author, folder));
  process.stdout.write(`${options.json ? JSON.stringify(report, null, 2) : renderReport(report)}\n`);
  return exitCodeOf(report);
}

async function main([first, ...rest]: readonly string[]): Promise<number> {
  try {
    return await (first === "sandboxes" ? sandboxes(rest) : kills(process.argv.slice(2)));
  } catch (error) {
    const { message, exitCode } = describeError(error);
    process.stderr.write(`chaos: ${message}\n`);
    if (process.env.TADPOLE_DEBUG === "1") console.error(error);
    return exitCode;
  }
}

process.exitCode = await main(process.argv.slice(2));
