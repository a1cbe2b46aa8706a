/** Looks at the commits of an environment's repository, newest first: the type of each, or why it is none. */
import type { HistorySettings } from "../../../core/synthesis.ts";
import type { ChangedPath, Commit, History } from "../../environments/index.ts";
import type { CatalogueEntry } from "../../environments/types.ts";
import { compareFunctions, MODULE_FUNCTION, sameProgram } from "../../languages/index.ts";
import { classify, type Sources } from "./classify.ts";
import { isRevert, revertedBy } from "./message.ts";
import { isMachineMade, type PathRole, roleOf } from "./paths.ts";
import type { ChangedFile, ChangedFunction, Skip, Surveyed } from "./types.ts";

type Entry = Pick<CatalogueEntry, "name" | "sources" | "tests">;

const WORKLOADS = /^(bench|benchmarks?|perf)(\/[^/]+|)\.(c?js|mjs|py)$/;

const decode = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8");

/** Roles whose text is read. */
const READ: readonly PathRole[] = ["source", "test", "manifest", "data"];

async function read(history: History, changes: readonly (ChangedPath & { role: PathRole })[]) {
  const wanted = changes.filter(({ role }) => READ.includes(role));
  const ids = wanted.flatMap(({ before, after }) => [before, after].filter((id) => id !== null));
  const blobs = await history.blobs(ids);
  const texts = new Map(ids.map((id, i) => [id, decode(blobs[i]!)]));
  const textOf = (id: string | null) => (id === null ? "" : texts.get(id)!);
  return wanted.map(
    ({ path, role, before, after }): ChangedFile => ({
      path,
      role,
      before: textOf(before),
      after: textOf(after),
    }),
  );
}

/** The module where nothing that has a name differs. */
function functionsOf({ path: file, before, after }: ChangedFile): ChangedFunction[] {
  const { changed, added } = compareFunctions(file, before, after);
  const lineOf = (line: number) => (before === "" ? null : line);
  const found = [
    ...changed.map(({ name, startLine }) => ({ file, name, line: lineOf(startLine) })),
    ...added.map(({ name }) => ({ file, name, line: null })),
  ];
  return found.length > 0 ? found : [{ file, name: MODULE_FUNCTION, line: lineOf(1) }];
}

/** Whether a manifest says something else of what the package needs or how it is loaded, not only of its version and its tools. */
function manifestMatters({ path, before, after }: ChangedFile): boolean {
  if (!path.endsWith(".json")) return before !== after;
  const essence = (text: string) => {
    try {
      const { dependencies, peerDependencies, exports, main, module, bin, type, imports, browser } =
        JSON.parse(text);
      return JSON.stringify([
        dependencies,
        peerDependencies,
        exports,
        main,
        module,
        bin,
        type,
        imports,
        browser,
      ]);
    } catch {
      return text;
    }
  };
  return essence(before) !== essence(after);
}

function skipOf(commit: Commit, reverted: ReadonlySet<string>): Skip | null {
  if (commit.parents.length > 1) return "merge";
  if (commit.parents.length === 0) return "root";
  if (isRevert(commit.message)) return "revert";
  return [...reverted].some((sha) => commit.sha.startsWith(sha)) ? "reverted" : null;
}

class Survey {
  private readonly entry: Entry;
  private readonly history: History;
  private readonly settings: HistorySettings;

  constructor(entry: Entry, history: History, settings: HistorySettings) {
    this.entry = entry;
    this.history = history;
    this.settings = settings;
  }

  async of(commit: Commit, reverted: ReadonlySet<string>): Promise<Surveyed> {
    const nothing = { commit, files: 0, lines: 0 };
    const early = skipOf(commit, reverted);
    if (early !== null) return { ...nothing, outcome: { skip: early } };
    const changes = (await this.history.changes(commit)).map((change) => ({
      ...change,
      role: roleOf(change.path, this.entry),
    }));
    const sources = changes.filter(({ role }) => role === "source");
    const size = { commit, files: sources.length, lines: sources.reduce((sum, { lines }) => sum + lines, 0) };
    const skip = (reason: Skip): Surveyed => ({ ...size, outcome: { skip: reason } });
    if (sources.length === 0) {
      const roles = new Set(changes.map(({ role }) => role));
      return skip(roles.has("test") ? "tests-only" : "no-source");
    }
    if (size.files > this.settings.maxFiles) return skip("too-many-files");
    if (size.lines > this.settings.maxLines) return skip("too-many-lines");
    return this.look(size, await read(this.history, changes), skip);
  }

  private async look(
    size: Omit<Surveyed, "outcome">,
    files: readonly ChangedFile[],
    skip: (reason: Skip) => Surveyed,
  ): Promise<Surveyed> {
    const { commit } = size;
    const all = files.filter(({ role }) => role === "source");
    const written = all.filter(({ before, after }) => !isMachineMade(after || before));
    if (written.length === 0) return skip("generated");
    const sources = written.filter(({ path, before, after }) => !sameProgram(path, before, after));
    if (sources.length === 0) return skip("formatting-only");
    const tests = files.filter(({ role }) => role === "test");
    const manifests = files.filter((file) => file.role === "manifest" && manifestMatters(file));
    const data = files.filter(({ role }) => role === "data");
    const answer = await classify({
      message: commit.message,
      sources,
      tests,
      manifestChanged: manifests.length > 0,
      before: () => this.sources(commit.parents[0]!),
      after: () => this.sources(commit.sha),
      isOwn: (name) => this.isOwn(name),
      workload: () => this.workload(commit.sha),
    });
    if ("skip" in answer) return skip(answer.skip);
    return {
      ...size,
      outcome: {
        usable: {
          ...answer,
          sources: [...all, ...manifests, ...data],
          tests,
          functions: sources.flatMap(functionsOf),
        },
      },
    };
  }

  private async sources(sha: string): Promise<Sources> {
    const tree = await this.history.tree(sha);
    return new Map(
      [...tree].flatMap(([path, content]) =>
        roleOf(path, this.entry) === "source" ? [[path, decode(content)] as const] : [],
      ),
    );
  }

  /** Python's own packages and modules, Go's own module: by the sources that the environment names. */
  private isOwn(name: string): boolean {
    const { sources, name: own } = this.entry;
    const isPython = sources.some((path) => {
      const parts = path.replace(/\.py$/, "").split("/");
      return path.endsWith(".py") && (parts[0] === name || parts[1] === name);
    });
    return isPython || name === own || new RegExp(`(^|/)${own}(/|$)`).test(name);
  }

  private async workload(sha: string): Promise<{ readonly path: string; readonly text: string } | null> {
    const tree = await this.history.tree(sha);
    const path = [...tree.keys()].find((candidate) => WORKLOADS.test(candidate));
    return path === undefined ? null : { path, text: decode(tree.get(path)!) };
  }
}

/** Newest first. Throws `EnvironmentError` where the repository cannot be read. */
export async function survey(
  entry: Entry,
  history: History,
  settings: HistorySettings,
): Promise<readonly Surveyed[]> {
  const commits = await history.commits(settings.maxCommits);
  const reverted = new Set(commits.flatMap(({ message }) => revertedBy(message)));
  const looking = new Survey(entry, history, settings);
  const surveyed: Surveyed[] = [];
  for (const commit of commits) surveyed.push(await looking.of(commit, reverted));
  return surveyed;
}
