/** `env add | list | show | history | releases | verify | remove`: the environments tasks are made in, their commits, and their proof. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { SANDBOX_RUNTIMES, type SandboxRuntimeName } from "../../../core/experiment.ts";
import { REPORT_FORMATS, type ReportFormat } from "../../../core/task.ts";
import type { Framework, PreparedEnvironment } from "../../../services/environments/index.ts";
import { examples, wantsJson } from "../command.ts";
import { count, registerHistory, registerReleases } from "../env-history.ts";
import { flakesOf, runtimeFor, verifyAll, withGrading } from "../env-verify.ts";
import { UsageError } from "../errors.ts";
import { formatTable, ProgressLine, writeJson, writeLine } from "../output.ts";

interface AddCommandOptions {
  readonly name?: string;
  readonly role: "train" | "unseen" | "pretrain";
  readonly test?: string;
  readonly format?: ReportFormat;
  readonly reportFile?: string;
  readonly framework?: Framework;
  readonly sources?: readonly string[];
  readonly tests?: readonly string[];
  readonly requirements?: string;
  readonly workdir?: string;
  readonly repeats: number;
  readonly timeout: number;
  readonly runtime?: SandboxRuntimeName;
}

const runtimeOption = () =>
  new Option(
    "--runtime <name>",
    "run the tests in sandboxes of this runtime (default: process; docker for an image)",
  ).choices(SANDBOX_RUNTIMES);

export function register(program: Command): void {
  const env = program
    .command("env")
    .description("look at the environments tasks are made in, add others, and prove them");
  registerAdd(env);
  registerList(env);
  registerShow(env);
  registerHistory(env);
  registerReleases(env);
  registerVerify(env);
  registerRemove(env);
}

function registerAdd(env: Command): void {
  const add = env
    .command("add")
    .description("pin a package, a commit or an image, find out how it is tested, and run its tests")
    .argument(
      "<source>",
      "npm:<name>@<version>, pypi:<name>==<version>, go:<module>@v<version>, git:<path or URL>@<ref> or docker:<image>",
    )
    .option("--name <name>", "the name that experiments use (default: made from the source)")
    .addOption(
      new Option("--role <role>", "what it is for")
        .choices(["train", "unseen", "pretrain"])
        .default("unseen"),
    )
    .option("--test <command>", "Bash that runs the tests, where they cannot be found; needs --format")
    .addOption(new Option("--format <format>", "what --test reports in").choices(REPORT_FORMATS))
    .option("--report-file <path>", "where --test leaves its report (default: it prints it)")
    .option("--framework <name>", "how it is tested, where that cannot be found", frameworkOf)
    .option("--sources <globs...>", "the files that tasks may change")
    .option("--tests <globs...>", "the test files")
    .option("--requirements <file>", "Python: wheels that the tests need, with hashes")
    .option("--workdir <path>", "docker: the working tree in the image (default: the image's own)")
    .option("--repeats <k>", "run the tests so often", count, 3)
    .option("--timeout <seconds>", "stop a run of the tests after so long", count, 300)
    .addOption(runtimeOption())
    .action(async (source: string, options: AddCommandOptions, self: Command) => {
      if ((options.test === undefined) !== (options.format === undefined))
        throw new UsageError(
          "--test needs --format, which says what it reports in, and --format needs --test",
        );
      const json = wantsJson(self);
      const view = new ProgressLine();
      const runtime = await runtimeFor({ source }, options.runtime);
      const { name, role, framework, sources, tests, requirements, workdir, repeats } = options;
      const { addEnvironment } = await import("../../../services/environments/index.ts");
      const { createHostImages } = await import("../../../services/sandbox/index.ts");
      const { hostOptions } = await import("../../../infra/stack/index.ts");
      const prepared = await withGrading(({ folder, of }) =>
        addEnvironment({
          source,
          runtime,
          ...{ name, role, framework, sources, tests, requirements, workdir, repeats },
          wallSeconds: options.timeout,
          test:
            options.test === undefined
              ? undefined
              : {
                  argv: ["bash", "-c", options.test],
                  format: options.format!,
                  reportFile: options.reportFile ?? null,
                },
          dataFolder: folder,
          runTests: of(runtime).runTests,
          note: (id, reference) => createHostImages(hostOptions(folder)).built(id, reference),
          ...(json ? {} : { log: (line: string) => view.note(`  ${line}`) }),
        }),
      ).finally(() => view.clear());
      if (json) return writeJson(prepared);
      for (const line of await describe(prepared)) writeLine(line);
    });
  examples(add, [
    "env add npm:array-filter@1.0.0",
    "env add pypi:inflection==0.5.1 --tests 'test_*.py'",
    "env add git:../my-library@v1.2.0 --framework mocha",
    "env add docker:my-image --test 'make test' --format tap --sources 'src/**' --tests 'tests/**'",
  ]);
}

function registerList(env: Command): void {
  env
    .command("list")
    .description("list the catalogue and what was added to this data folder")
    .action(async (_options: unknown, command: Command) => {
      const { addedNames, loadEntries } = await import("../../../services/environments/index.ts");
      const { dataFolder } = await import("../../../infra/stack/index.ts");
      const folder = dataFolder();
      const { entries } = await loadEntries(folder);
      const added = await addedNames(folder);
      const rows = entries.map(({ pins: _pins, ...entry }) => ({
        ...entry,
        added: added.includes(entry.name),
      }));
      if (wantsJson(command)) return writeJson(rows);
      writeLine(
        formatTable(rows, [
          { title: "name", value: ({ name }) => name },
          { title: "role", value: ({ role }) => role },
          { title: "source", value: ({ source }) => source },
          { title: "framework", value: ({ framework }) => framework },
          { title: "sources", align: "right", value: ({ sources }) => sources.length },
          { title: "tests", align: "right", value: ({ tests }) => tests.length },
          { title: "added", value: (row) => (row.added ? "yes" : "") },
        ]),
      );
    });
}

function registerShow(env: Command): void {
  const show = env
    .command("show")
    .description(
      "show an environment of this data folder, preparing it if needed: its tree, tests and baseline",
    )
    .argument("<name>", "its name (tadpole env list)")
    .addOption(runtimeOption())
    .action(async (name: string, options: { readonly runtime?: SandboxRuntimeName }, command: Command) => {
      const json = wantsJson(command);
      const { findEntry, loadEntries, prepareEnvironment } = await import(
        "../../../services/environments/index.ts"
      );
      const prepared = await withGrading(async ({ folder, of }) => {
        const catalogue = await loadEntries(folder);
        const { dataFolder, runTests } = of(await runtimeFor(findEntry(catalogue, name), options.runtime));
        return prepareEnvironment({ name, catalogue, dataFolder, runTests });
      });
      if (json) return writeJson(prepared);
      for (const line of await describe(prepared)) writeLine(line);
    });
  examples(show, ["env show minimist"]);
}

function registerVerify(env: Command): void {
  const verify = env
    .command("verify")
    .description(
      "prepare environments anew from the registry and compare: tree, modules, every test's status; search their sandboxes for copies of the sources",
    )
    .argument("[names...]", "environments to verify (default: all)")
    .option("--repeats <k>", "run the tests so often in each preparation", count, 3)
    .addOption(runtimeOption())
    .action(
      async (
        names: readonly string[],
        options: { readonly repeats: number; readonly runtime?: SandboxRuntimeName },
        command: Command,
      ) => {
        const { loadEntries } = await import("../../../services/environments/index.ts");
        const { dataFolder } = await import("../../../infra/stack/index.ts");
        const catalogue = await loadEntries(dataFolder());
        const known = catalogue.entries.map((entry) => entry.name);
        const unknown = names.find((name) => !known.includes(name));
        if (unknown !== undefined)
          throw new UsageError(`no environment "${unknown}" (tadpole env list): ${known.join(", ")}`);
        const wanted = catalogue.entries.filter(({ name }) => names.length === 0 || names.includes(name));
        const runtimes = new Map<string, SandboxRuntimeName>();
        for (const entry of wanted) runtimes.set(entry.name, await runtimeFor(entry, options.runtime));
        process.exitCode = await withGrading(({ of }) =>
          verifyAll((name) => of(runtimes.get(name)!), {
            names: names.length > 0 ? names : known,
            catalogue,
            repeats: options.repeats,
            json: wantsJson(command),
          }),
        );
      },
    );
  examples(verify, ["env verify minimist", "env verify"]);
}

function registerRemove(env: Command): void {
  const remove = env
    .command("remove")
    .description("remove an environment that was added; refused while an experiment of the record uses it")
    .argument("<name>", "its name (tadpole env list)")
    .option("--force", "even so, and without looking into the record", false)
    .action(async (name: string, { force }: { readonly force: boolean }, command: Command) => {
      const { removeEnvironment } = await import("../../../services/environments/index.ts");
      const { createHostImages } = await import("../../../services/sandbox/index.ts");
      const { dataFolder, hostOptions } = await import("../../../infra/stack/index.ts");
      const folder = dataFolder();
      const images = createHostImages(hostOptions(folder));
      await removeEnvironment({
        dataFolder: folder,
        name,
        force,
        usedBy: () => usersOf(name),
        // Without its daemon the image stays, on record: the least recently used go when there are too many.
        discardImage: (id) => images.discard(id).catch(() => false),
      });
      if (wantsJson(command)) writeJson({ removed: name });
      else writeLine(`removed ${name}`);
    });
  examples(remove, ["env remove my-library"]);
}

/**
 * Experiments of the record. Throws UsageError where a record was kept but no stack runs: nothing uses an environment then, but nobody knows which
 * experiments were made with it.
 */
async function usersOf(name: string): Promise<readonly string[]> {
  const { existsSync } = await import("node:fs");
  const { dataFolder, StackError, stackFiles } = await import("../../../infra/stack/index.ts");
  const folder = dataFolder();
  if (!existsSync(stackFiles(folder).postgres) && !process.env.DATABASE_URL) return [];
  const { withRecord } = await import("../../control/index.ts");
  const { experimentsUsing } = await import("../../../services/store/index.ts");
  return withRecord(({ db }) => experimentsUsing(db, name)).catch((cause: unknown) => {
    if (!(cause instanceof StackError)) throw cause;
    throw new UsageError(
      `no stack runs in ${folder}, so nothing uses ${name} now; but experiments on record may name it, and without it they can be neither continued nor graded again. tadpole up, and the record is looked into; --force removes it all the same`,
      { cause },
    );
  });
}

const NAMES: Record<Framework, true> = {
  tape: true,
  "node-test": true,
  mocha: true,
  jest: true,
  vitest: true,
  pytest: true,
  unittest: true,
  "go-test": true,
  command: true,
};

function frameworkOf(text: string): Framework {
  if (Object.hasOwn(NAMES, text) && text !== "command") return text as Framework;
  const names = Object.keys(NAMES).filter((name) => name !== "command");
  throw new InvalidArgumentError(`expected one of ${names.join(", ")}`);
}

async function describe(prepared: PreparedEnvironment): Promise<string[]> {
  const { flakeBound } = await import("../../../services/environments/index.ts");
  const { entry, baseline, unstable, baselineRuns: runs, commands, image } = prepared;
  const failing = Object.values(baseline).filter((status) => status === "failed").length;
  const counted = `${Object.keys(baseline).length} tests over ${runs} runs, ${prepared.cpuSeconds.toFixed(2)} CPU s`;
  return [
    `${prepared.key} · ${entry.source} · ${entry.role}`,
    `tree     ${prepared.root}`,
    image === null ? `modules  ${prepared.modules}` : `image    ${image.reference} at ${image.workdir}`,
    `sources  ${entry.sources.join(", ")}`,
    `tests    ${entry.tests.join(", ")}`,
    `command  ${commands[0]!.argv.join(" ")}${commands.length > 1 ? ` and ${commands.length - 1} more` : ""}`,
    `baseline ${counted}${failing > 0 ? `, ${failing} fail untouched` : ""}`,
    `flakes   ${flakesOf({ unstable, runs, flakeBound: flakeBound(runs) })}`,
  ];
}
