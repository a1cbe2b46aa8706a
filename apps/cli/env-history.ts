/** `env history` and `env releases`: the commits of an environment as tasks, and repositories of what a package published. */
import { resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { examples, wantsJson } from "./command.ts";
import { UsageError } from "./errors.ts";
import { formatTable, ProgressLine, writeJson, writeLine } from "./output.ts";

/** Parses a number option. Throws Commander's InvalidArgumentError. */
export function count(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError("expected a whole number from 1 on");
  return value;
}

interface HistoryOptions {
  readonly maxCommits: number;
  readonly maxFiles: number;
  readonly maxLines: number;
}

/** Columns of a commit's hash and subject in the table. */
const SHA = 12;
const SUBJECT = 60;

export function registerHistory(env: Command): void {
  const history = env
    .command("history")
    .description(
      "list the commits of a git environment: the type of the task that each makes, or why it makes none",
    )
    .argument("<name>", "its name (tadpole env list)")
    .option("--max-commits <n>", "look at so many, newest first", count, 500)
    .option("--max-files <n>", "source files that a commit may change", count, 8)
    .option("--max-lines <n>", "source lines that a commit may change", count, 200)
    .action(async (name: string, options: HistoryOptions, command: Command) => {
      const { findEntry, historyOf, loadEntries } = await import("../../services/environments/index.ts");
      const { SKIPS, survey } = await import("../../services/synthesis/index.ts");
      const { dataFolder } = await import("../../infra/stack/index.ts");
      const folder = dataFolder();
      const entry = findEntry(await loadEntries(folder), name);
      const commits = historyOf(entry, { dataFolder: folder });
      if (commits === null)
        throw new UsageError(`${name} has no history: history makes tasks of git environments`);
      const surveyed = await survey(entry, commits, options);
      const rows = surveyed.map(({ commit, files, lines, outcome }) => ({
        sha: commit.sha,
        subject: commit.message.split("\n")[0]!,
        files,
        lines,
        type: "usable" in outcome ? outcome.usable.type : null,
        skipped: "skip" in outcome ? outcome.skip : null,
      }));
      const counts: Record<string, number> = {};
      for (const { type, skipped } of rows) counts[type ?? skipped!] = (counts[type ?? skipped!] ?? 0) + 1;
      const { repository, commit } = commits;
      if (wantsJson(command)) return writeJson({ name, repository, commit, counts, commits: rows });
      writeLine(
        formatTable(rows, [
          { title: "commit", value: ({ sha }) => sha.slice(0, SHA) },
          { title: "task", value: ({ type }) => type ?? "" },
          { title: "skipped", value: ({ skipped }) => skipped ?? "" },
          { title: "files", align: "right", value: ({ files }) => files },
          { title: "lines", align: "right", value: ({ lines }) => lines },
          { title: "subject", value: ({ subject }) => subject.slice(0, SUBJECT) },
        ]),
      );
      const told = (kind: string) =>
        kind in SKIPS ? `${kind}: ${SKIPS[kind as keyof typeof SKIPS]}` : `${kind}: a task for the gates`;
      writeLine("");
      for (const [kind, number] of Object.entries(counts).sort(([, a], [, b]) => b - a))
        writeLine(`${String(number).padStart(4)} ${told(kind)}`);
    });
  examples(history, ["env history my-library", "env history my-library --max-lines 400 --json"]);
}

interface ReleasesCommandOptions {
  readonly out: string;
  readonly from?: string;
  readonly to?: string;
}

export function registerReleases(env: Command): void {
  const releases = env
    .command("releases")
    .description("make a git repository of a package's published versions, one commit each, for env add")
    .argument("<package>", "npm:<name>")
    .requiredOption("--out <folder>", "the bare repository to make")
    .option("--from <version>", "the first one (default: the lowest)")
    .option("--to <version>", "the last one (default: the highest)")
    .action(async (source: string, { out, from, to }: ReleasesCommandOptions, command: Command) => {
      const [, packageName] = /^npm:((?:@[a-z0-9._-]+\/)?[a-z0-9._-]+)$/i.exec(source) ?? [];
      if (packageName === undefined)
        throw new UsageError(`expected npm:<name> without a version, found ${JSON.stringify(source)}`);
      const json = wantsJson(command);
      const view = new ProgressLine();
      const { releasesRepository } = await import("../../services/environments/index.ts");
      const folder = resolve(out);
      const versions = await releasesRepository({
        packageName,
        from: from ?? null,
        to: to ?? null,
        out: folder,
        ...(json ? {} : { log: (line: string) => view.note(`  ${line}`) }),
      }).finally(() => view.clear());
      if (json) return writeJson({ repository: folder, versions });
      writeLine(
        `${versions.length} versions, ${versions[0]} to ${versions.at(-1)}: tadpole env add git:${folder}@main --role train`,
      );
    });
  examples(releases, ["env releases npm:shell-quote --to 1.8.1 --out shell-quote.git"]);
}
