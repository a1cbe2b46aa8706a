/** `plan`: what an experiment comes to before it runs. Reads its file and asks nothing else. */
import { type Command, InvalidArgumentError } from "commander";
import { type ExperimentPlan, type PlanSpeeds, planExperiment } from "../../../core/plan.ts";
import { examples, wantsJson } from "../command.ts";
import { UsageError } from "../errors.ts";
import { formatBytes, formatTable, writeJson, writeLine } from "../output.ts";

interface PlanOptions extends PlanSpeeds {
  readonly set: readonly string[];
}

/** Assumptions to begin with; each is an option, since engines and models differ tenfold. */
const DEFAULTS: PlanSpeeds = {
  tokensPerSecond: 20_000,
  stepSeconds: 120,
  tokensPerTrajectory: 20_000,
  generatedShare: 0.3,
  parameters: 4e9,
};

export function register(program: Command): void {
  const command = program
    .command("plan")
    .description(
      "rollouts, tokens, storage and time of an experiment, from its file and given speeds; starts nothing",
    )
    .argument("<experiment>", "a YAML file, or the name of a bundled experiment")
    .option(
      "--tokens-per-second <n>",
      "tokens generated per second by all engines together",
      above0,
      DEFAULTS.tokensPerSecond,
    )
    .option(
      "--step-seconds <n>",
      "seconds of an update with its checkpoint and publication",
      above0,
      DEFAULTS.stepSeconds,
    )
    .option(
      "--tokens-per-trajectory <n>",
      "mean tokens of a trajectory, prompts among them",
      above0,
      DEFAULTS.tokensPerTrajectory,
    )
    .option(
      "--generated-share <n>",
      "part of them that the policy generates",
      above0,
      DEFAULTS.generatedShare,
    )
    .option("--parameters <n>", "parameters of the model", above0, DEFAULTS.parameters)
    .option(
      "--set <path=value>",
      "override one setting; may be repeated",
      (value: string, all: string[]) => [...all, value],
      [],
    )
    .action(async (source: string, options: PlanOptions, self: Command) => {
      const { loadExperiment } = await import("../../control/index.ts");
      const { set, tokensPerSecond, stepSeconds, tokensPerTrajectory, generatedShare, parameters } = options;
      if (generatedShare > 1) throw new UsageError(`--generated-share ${generatedShare}: expected 0 to 1`);
      const { settings } = await loadExperiment(source, { set });
      const speeds = { tokensPerSecond, stepSeconds, tokensPerTrajectory, generatedShare, parameters };
      const plan = planExperiment(settings, speeds);
      if (wantsJson(self)) return writeJson({ ...plan, speeds });
      for (const line of planLines(plan, speeds)) writeLine(line);
    });
  examples(command, [
    "plan frognano",
    "plan frognano --tokens-per-second 35000 --step-seconds 90",
    "plan frognano --set climb.pace.kind=exact --json",
  ]);
}

function above0(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value <= 0)
    throw new InvalidArgumentError("expected a number above 0");
  return value;
}

const count = (value: number): string => Math.round(value).toLocaleString("en-US");

function time(seconds: number): string {
  const hours = seconds / 3600;
  return hours < 48 ? `${hours.toFixed(1)} h` : `${(hours / 24).toFixed(1)} d`;
}

export function planLines({ iterations, total, ...plan }: ExperimentPlan, speeds: PlanSpeeds): string[] {
  const rows = [
    ...iterations.map((one) => ({ label: String(one.iteration), ...one })),
    { label: "all", ...total },
  ];
  const table = formatTable(rows, [
    { title: "iteration", value: ({ label }) => label },
    { title: "updates", align: "right", value: ({ updates }) => count(updates) },
    { title: "trajectories", align: "right", value: ({ trajectories }) => count(trajectories) },
    {
      title: "probes",
      align: "right",
      value: ({ probes: { least, most } }) =>
        least === most ? count(least) : `${count(least)} to ${count(most)}`,
    },
    { title: "validations", align: "right", value: ({ validations }) => count(validations) },
    { title: "evaluations", align: "right", value: ({ evaluations }) => count(evaluations) },
    { title: "tokens", align: "right", value: ({ tokens }) => `${count(tokens / 1e6)} M` },
    { title: "time", align: "right", value: ({ seconds }) => time(seconds.all) },
  ]);
  const { trajectories, batches, checkpoints } = total.bytes;
  const versions = `${count(total.updates)} versions of ${formatBytes(plan.checkpointBytes)}`;
  return [
    ...table.split("\n"),
    "",
    `storage: trajectories ${formatBytes(trajectories)}, batches ${formatBytes(batches)}, checkpoints ${formatBytes(checkpoints)} (${versions}, all kept)`,
    `time: ${time(total.seconds.rollouts)} of rollouts at ${count(speeds.tokensPerSecond)} tokens/s, ${time(total.seconds.updates)} of updates at ${count(speeds.stepSeconds)} s`,
    `assumed: ${count(speeds.tokensPerTrajectory)} tokens per trajectory, of which ${Math.round(100 * speeds.generatedShare)} % are generated; the fewest probes`,
    `evaluations of the start policy, ${count(plan.startEvaluations)}, are in the last line alone`,
  ];
}
