/** `run`: starts an experiment, or joins it, and follows it to its end. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { ABLATIONS, type Ablation } from "../../../core/experiment.ts";
import { wantsJson } from "../command.ts";
import { UsageError } from "../errors.ts";
import { ProgressLine, writeJson, writeLine } from "../output.ts";
import { stackProgress } from "../stack-progress.ts";

interface RunOptions {
  readonly seed?: number;
  readonly ablation?: Ablation;
  readonly name?: string;
  readonly set: readonly string[];
  readonly detach: boolean;
}

export function register(program: Command): void {
  program
    .command("run")
    .description("run an experiment to its end, or join it when it is already running or done")
    .argument(
      "<experiment>",
      "a YAML file, or the name of a bundled experiment: quickstart, evidence, frognano (the paper's recipe, for a node of GPUs)",
    )
    .option("--seed <n>", "seed of every random choice", wholeNumber)
    .addOption(
      new Option("--ablation <ablation>", "what the experiment leaves out, to be compared with it").choices(
        ABLATIONS,
      ),
    )
    .option("--name <name>", "name of the experiment (default: <file>-<seed>, or <file>-<ablation>-<seed>)")
    .option(
      "--set <path=value>",
      "override one setting; may be repeated",
      (value: string, all: string[]) => [...all, value],
      [],
    )
    .option("--detach", "start it and return at once", false)
    .addHelpText(
      "after",
      `
Examples:
  tadpole run quickstart                        the whole loop on this machine, a few minutes
  tadpole run quickstart --seed 2               the same with other random choices
  tadpole run my.yaml --set climb.updates=16    your own experiment, one setting changed
  tadpole run quickstart --ablation frozen-pool the same on the first iteration's pool throughout

Leaving it (Ctrl-C) stops nothing; the same command joins again.`,
    )
    .action(async (source: string, options: RunOptions, command: Command) => {
      const { checkEnvironments, checkPolicy, codeVersion, loadExperiment, startExperiment, withStack } =
        await import("../../control/index.ts");
      const { workflowLink, writeExperiment } = await import("../experiment-view.ts");
      const { follow } = await import("../watch.ts");
      const json = wantsJson(command);
      const { settings, defaultName } = await loadExperiment(source, options);
      const name = checkName(options.name ?? defaultName);
      await checkEnvironments(settings, source);
      await checkPolicy(settings, source);
      const view = new ProgressLine();
      process.exitCode = await withStack(
        async (session) => {
          const started = await startExperiment(
            { ...session, codeVersion: await codeVersion() },
            name,
            settings,
          );
          const link = workflowLink(session, name);
          if (options.detach) {
            if (json) writeJson({ name, started, temporalUi: link });
            else writeLine(`${started} ${name}; tadpole watch ${name} follows it`);
            return 0;
          }
          if (started === "finished") {
            await writeExperiment(session, name, json);
            if (!json)
              writeLine(
                `It had already finished. For another: --seed N, or --name NAME with other settings.`,
              );
            return 0;
          }
          if (!json) view.note(`${started} ${name}${link === null ? "" : ` · ${link}`}`);
          return follow(session, name, json);
        },
        stackProgress(json, view),
      );
    });
}

/** Names stand in workflow ids, record keys and file names. */
function checkName(name: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name)) return name;
  throw new UsageError(
    `--name ${JSON.stringify(name)}: expected at most 100 letters, digits, dots, hyphens and underscores, the first a letter or digit`,
  );
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0)
    throw new InvalidArgumentError("expected a whole number from 0 on");
  return value;
}
