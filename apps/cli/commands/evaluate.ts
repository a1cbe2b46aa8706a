/** `evaluate`: measures any policy on a task set of an experiment. */
import { type Command, InvalidArgumentError } from "commander";
import { wantsJson } from "../command.ts";
import { formatPercent, writeJson, writeLine } from "../output.ts";

interface EvaluateOptions {
  readonly experiment: string;
  readonly samples?: number;
  readonly temperature?: number;
  readonly greedy: boolean;
  readonly cold: boolean;
}

export function register(program: Command): void {
  program
    .command("evaluate")
    .description("measure a policy on one of an experiment's held-out task sets")
    .argument("<policy>", "id of the policy (tadpole policy list)")
    .argument("<set>", "name of the task set, as the experiment's settings call it")
    .requiredOption("--experiment <name>", "the experiment whose set and limits are used")
    .option("--samples <n>", "samples per task (default: the set's own)", positive)
    .option(
      "--temperature <t>",
      "sampling temperature (default: the experiment's); 1/k scales a policy's scores by k",
      nonNegative,
    )
    .option("--greedy", "greedy decoding, one sample per task", false)
    .option("--cold", "grade every rollout in a new process, re-using nothing", false)
    .addHelpText(
      "after",
      `
Examples:
  $ tadpole evaluate nano-0123456789abcdef unseen-packages --experiment quickstart-1
  $ tadpole evaluate nano-0123456789abcdef unseen-packages --experiment quickstart-1 --temperature 0.5`,
    )
    .action(async (policy: string, set: string, options: EvaluateOptions, command: Command) => {
      const { evaluate, withRecord } = await import("../../control/index.ts");
      const { getExperiment } = await import("../../../services/store/index.ts");
      const { evaluationGrading, GREEDY } = await import("../../../core/experiment.ts");
      const result = await withRecord(async (session) => {
        const settings = (await getExperiment(session.db, options.experiment))
          .settings as import("../../../core/experiment.ts").ExperimentSettings;
        const own = settings.evaluation.sampling;
        const sampling = options.greedy
          ? GREEDY
          : { ...own, temperature: options.temperature ?? own.temperature };
        const samples = options.greedy
          ? 1
          : (options.samples ?? settings.evaluation.sets[set]?.samplesPerTask ?? 1);
        const mode = options.cold ? "cold" : settings.evaluation.grading;
        return evaluate(session, {
          experiment: options.experiment,
          policy,
          set,
          mode: `temperature-${sampling.temperature}-samples-${samples}-${mode}`,
          samples,
          sampling,
          grading: evaluationGrading(settings, mode),
        });
      });
      if (wantsJson(command)) return writeJson({ policy, set, ...result });
      writeLine(
        `${policy} on ${set}: pass@1 ${formatPercent(result.passAt1)} [${formatPercent(result.low)}, ${formatPercent(result.high)}] (95 %), ${result.tasks} tasks × ${result.samples}`,
      );
    });
}

function positive(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new InvalidArgumentError("expected a whole number from 1 on");
  return value;
}

function nonNegative(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value < 0 || text.trim() === "")
    throw new InvalidArgumentError("expected a number from 0 on");
  return value;
}
