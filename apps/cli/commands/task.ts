/** `task list | show | try`: the tasks made so far; one with its statements, gates and probes; one rollout of it. */
import { type Command, InvalidArgumentError } from "commander";
import { FILTERS } from "../../control/filters.ts";
import type { TrialChoices } from "../../control/index.ts";
import { examples, wantsJson } from "../command.ts";
import { listCommand, timeOf } from "../list-view.ts";
import { ProgressLine, writeJson, writeLine } from "../output.ts";
import { writeRollout } from "../rollout-view.ts";
import { writeTask } from "../task-view.ts";

export function register(program: Command): void {
  const task = program.command("task").description("look at the tasks made so far, and try one");
  listCommand(task, {
    name: "list",
    description: "list the tasks on record, by id",
    filters: FILTERS.tasks,
    read: (control) => control.tasksPage,
    columns: [
      { title: "task", value: ({ id }) => id },
      { title: "type", value: ({ type }) => type },
      { title: "generator", value: ({ generator }) => generator },
      { title: "environment", value: ({ environment }) => environment },
      { title: "created", value: timeOf },
    ],
    none: "No such task.",
    examples: [
      "task list --experiment quickstart-1 --outcome admitted",
      "task list --type feature --limit 10 --json",
    ],
  });
  task
    .command("show")
    .description("show a task: what it changes, its statements, gates, probes and revisions")
    .argument("<id>", "id of the task, t and 16 hex digits")
    .option("--gold", "also show the gold patch and the hidden tests, which no policy ever sees", false)
    .addHelpText("after", "\nExample:\n  tadpole task show t0123456789abcdef")
    .action(async (id: string, options: { readonly gold: boolean }, command: Command) => {
      const { showTask, withRecord } = await import("../../control/index.ts");
      const detail = await withRecord((session) => showTask(session, id));
      if (wantsJson(command)) return writeJson(detail);
      writeTask(detail, options.gold);
    });
  const trying = task
    .command("try")
    .description("run one rollout of a task and show it turn by turn; it is recorded and part of no result")
    .argument("<id>", "id of the task, t and 16 hex digits")
    .option("--policy <policy>", "id of the policy (default: latest, the last that the experiment chose)")
    .option(
      "--experiment <name>",
      "whose policy, limits and sampling (default: the latest that made the task)",
    )
    .option(
      "--level <n>",
      "level of the statement, 0 to 3 (default: of the last probe whose label holds, else as tasks are worded first)",
      wholeNumber,
    )
    .option(
      "--seed <n>",
      "seed of the rollout; another seed is another rollout (default: the experiment's)",
      wholeNumber,
    )
    .action(async (id: string, options: Omit<TrialChoices, "task">, command: Command) => {
      const { showRollout, startTrial, trialOutcome, withRecord } = await import("../../control/index.ts");
      const view = new ProgressLine();
      await withRecord(async (session) => {
        const trial = await startTrial(session, { ...options, task: id });
        view.note(
          `${trial.policy} of ${trial.experiment} works on ${id} at level ${trial.level}, seed ${trial.seed} …`,
        );
        const failure = await trialOutcome(session, trial);
        if (failure !== null) {
          view.note(`no rollout: ${failure.reason}`);
          process.exitCode = failure.badInput ? 2 : 1;
          return;
        }
        const detail = await showRollout(session, trial.rollout);
        if (wantsJson(command)) return writeJson({ ...trial, ...detail });
        writeRollout(detail);
        writeLine(`\nagain: tadpole rollout show ${trial.rollout}`);
      });
    });
  examples(trying, ["task try t0123456789abcdef", "task try t0123456789abcdef --level 3 --seed 7 --json"]);
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0 || value > 0xffffffff)
    throw new InvalidArgumentError("expected a whole number from 0 to 4294967295");
  return value;
}
