/** `export harbor | atif`: writes an experiment's tasks or trajectories as other projects read them. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { ExportMarker, ExportRequest, Session } from "../../control/index.ts";
import { examples, wantsJson } from "../command.ts";
import { ProgressLine, writeJson, writeLine } from "../output.ts";

interface Options {
  readonly out: string;
  readonly limit?: number;
}

interface HarborOptions extends Options {
  readonly image?: string;
  readonly network: "no-network" | "public";
}

export function register(program: Command): void {
  const group = program
    .command("export")
    .description("write tasks or trajectories as other projects read them");
  const harbor = subcommand(group, "harbor", "write the tasks an experiment admitted as Harbor task folders")
    .option(
      "--image <reference>",
      "base image of every task, with Node in it (default: Node's own, of this version)",
    )
    .addOption(
      new Option("--network <mode>", "what boxes may reach")
        .choices(["no-network", "public"])
        .default("no-network"),
    )
    .action((experiment: string, { image, network, ...options }: HarborOptions, self: Command) =>
      run(self, experiment, options, async (session, request) =>
        (await control()).exportHarbor(session, {
          ...request,
          network,
          ...(image === undefined ? {} : { image }),
        }),
      ),
    );
  examples(harbor, [
    "export harbor quickstart-1 --out tasks             then: harbor run -p tasks -a oracle",
    "export harbor quickstart-1 --out tasks --limit 10 --json",
  ]);
  const atif = subcommand(group, "atif", "write an experiment's rollouts as ATIF-v1.8 trajectories").action(
    (experiment: string, options: Options, self: Command) =>
      run(self, experiment, options, async (session, request) =>
        (await control()).exportAtif(session, request),
      ),
  );
  examples(atif, ["export atif quickstart-1 --out trajectories"]);
}

const control = () => import("../../control/index.ts");

function subcommand(group: Command, name: string, description: string): Command {
  return group
    .command(name)
    .description(description)
    .argument("<experiment>", "name of the experiment")
    .requiredOption(
      "--out <folder>",
      "folder to write; an older export in it is replaced, anything else refused",
    )
    .option("--limit <n>", "at most so many", count);
}

function count(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("expected a whole number of at least 1");
  return Number(text);
}

async function run(
  self: Command,
  experiment: string,
  { out, limit }: Options,
  write: (session: Session, request: ExportRequest) => Promise<ExportMarker>,
): Promise<void> {
  const progress = new ProgressLine();
  const request = {
    experiment,
    out,
    ...(limit === undefined ? {} : { limit }),
    onProgress: (done: number) => progress.draw([`${done} written`]),
  };
  const { withRecord } = await control();
  const marker = await withRecord((session) => write(session, request)).finally(() => progress.clear());
  if (wantsJson(self)) return writeJson({ out, ...marker });
  writeLine(`${marker.exported.length} written to ${out}`);
  for (const { id, reason } of marker.skipped) writeLine(`skipped ${id}: ${reason}`);
}
