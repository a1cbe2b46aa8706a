/** `evaluate`: measures any policy on a task set of an experiment. */
import { type Command, InvalidArgumentError } from "commander";
import { wantsJson } from "../command.ts";
import { UsageError } from "../errors.ts";
import { writeJson, writeLine } from "../output.ts";

interface EvaluateOptions {
  readonly experiment: string;
  readonly samples?: number;
  readonly temperature?: number;
  readonly greedy: boolean;
  readonly cold: boolean;
  readonly detach: boolean;
}

export function register(program: Command): void {
  program
    .command("evaluate")
    .description("measure a policy on one of an experiment's held-out task sets")
    .argument(
      "<policy>",
      "id of the policy (tadpole policy list), or latest: the last that the experiment chose",
    )
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
    .option("--detach", "start it and return at once", false)
    .addHelpText(
      "after",
      `
Examples:
  $ tadpole evaluate nano-0123456789abcdef unseen-packages --experiment quickstart-1
  $ tadpole evaluate nano-0123456789abcdef unseen-packages --experiment quickstart-1 --temperature 0.5`,
    )
    .action(async (policy: string, set: string, options: EvaluateOptions, command: Command) => {
      const { SAMPLES_LIMIT, startEvaluation, withRecord } = await import("../../control/index.ts");
      const { evaluationExit, followEvaluation, writeEvaluation } = await import("../evaluation-view.ts");
      const { detach, ...choices } = options;
      if ((choices.samples ?? 1) > SAMPLES_LIMIT)
        throw new UsageError(`--samples ${choices.samples}: expected at most ${SAMPLES_LIMIT}`);
      const json = wantsJson(command);
      await withRecord(async (session) => {
        const id = await startEvaluation(session, { ...choices, policy, set });
        if (detach) {
          if (json) return writeJson(id);
          const { experiment, mode } = id;
          return writeLine(
            `started; tadpole evaluation show ${experiment} ${id.policy} ${set} ${mode} tells how far it is`,
          );
        }
        const state = await followEvaluation(session, id);
        writeEvaluation(state, json);
        process.exitCode = evaluationExit(state);
      });
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
