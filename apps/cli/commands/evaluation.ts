/** `evaluation list | show`: what was measured; how far one is that was asked for. */
import type { Command } from "commander";
import { FILTERS } from "../../control/filters.ts";
import { examples, wantsJson } from "../command.ts";
import { listCommand } from "../list-view.ts";
import { formatPercent } from "../output.ts";

export function register(program: Command): void {
  const evaluation = program.command("evaluation").description("look at the evaluations made so far");
  listCommand(evaluation, {
    name: "list",
    description: "list the evaluations on record, by key",
    filters: FILTERS.evaluations,
    read: (control) => control.evaluationsPage,
    columns: [
      { title: "experiment", value: (found) => found.experiment },
      { title: "iteration", align: "right", value: (found) => found.iteration },
      { title: "policy", value: (found) => found.policy },
      { title: "set", value: (found) => found.set_name },
      { title: "mode", value: (found) => found.mode },
      { title: "pass@1", align: "right", value: (found) => formatPercent(found.pass_at_1) },
      {
        title: "95 %",
        value: ({ low, high }) => `[${formatPercent(low)}, ${formatPercent(high)}]`,
      },
      { title: "tasks × samples", align: "right", value: ({ tasks, samples }) => `${tasks} × ${samples}` },
    ],
    none: "No such evaluation.",
    examples: ["evaluation list --experiment quickstart-1 --mode greedy"],
  });
  const show = evaluation
    .command("show")
    .description("how far an evaluation is, and its result")
    .argument("<experiment>", "name of the experiment (tadpole list)")
    .argument("<policy>", "id of the policy")
    .argument("<set>", "name of the task set")
    .argument("<mode>", "as tadpole evaluate and tadpole evaluation list print it")
    .action(
      async (
        experiment: string,
        policy: string,
        set: string,
        mode: string,
        _options: unknown,
        self: Command,
      ) => {
        const { evaluationState, withRecord } = await import("../../control/index.ts");
        const { evaluationExit, writeEvaluation } = await import("../evaluation-view.ts");
        const state = await withRecord((session) =>
          evaluationState(session, { experiment, policy, set, mode }),
        );
        writeEvaluation(state, wantsJson(self));
        process.exitCode = evaluationExit(state);
      },
    );
  examples(show, ["evaluation show quickstart-1 nano-0123456789abcdef unseen-packages sampled"]);
}
