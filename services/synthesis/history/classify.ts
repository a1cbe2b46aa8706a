/** The type of a commit, by what it changes; the rules stand in docs/history.md in this order. Pure but for the trees it may ask for. */
import type { StructuralAssertion, TaskType, TypeCheck } from "../../../core/task.ts";
import { exactTokens, languageOf } from "../../languages/index.ts";
import { loadedModules, publicNames } from "./code.ts";
import { type Intent, intentsOf } from "./message.ts";
import type { ChangedFile, Skip } from "./types.ts";

/** Text of every source of a tree, by path. */
export type Sources = ReadonlyMap<string, string>;

export interface Question {
  readonly message: string;
  readonly sources: readonly ChangedFile[];
  readonly tests: readonly ChangedFile[];
  readonly manifestChanged: boolean;
  /** All sources of the commit's tree; asked for only where a module may have gone from it. */
  readonly after: () => Promise<Sources>;
  /** And of its parent's. */
  readonly before: () => Promise<Sources>;
  /** A module's name that is the repository's own. */
  readonly isOwn: (name: string) => boolean;
  /** A benchmark of the repository that needs nothing but its sources. */
  readonly workload: () => Promise<{ readonly path: string; readonly text: string } | null>;
}

export type Answer = { readonly type: TaskType; readonly check: TypeCheck | null } | { readonly skip: Skip };

/** What a solution of a performance task must gain at least; commits that say "faster" without a number are worth less to nobody. */
const MIN_SPEEDUP = 1.2;
/** A function is shorter when it lost this share of its lines, and so many. */
const SHORTER = 0.7;
const MIN_LINES_LOST = 5;

function union(
  files: readonly ChangedFile[],
  side: "before" | "after",
  of: (path: string, text: string) => Iterable<string>,
) {
  return new Set(files.flatMap((file) => [...of(file.path, file[side])]));
}

const without = (a: ReadonlySet<string>, b: ReadonlySet<string>): string[] =>
  [...a].filter((item) => !b.has(item)).sort();

/** A test that was written or changed, not only moved about or taken away. */
function bringsTests(tests: readonly ChangedFile[]): boolean {
  return tests.some(({ path, before, after }) => {
    const known = new Set(before.split("\n").map((line) => line.trim()));
    const written = after.split("\n").filter((line) => !known.has(line.trim()));
    return exactTokens(path, written.join("\n")).length > 0;
  });
}

/** Modules that no source loads any more, and those that one does now. */
async function exchanged(question: Question) {
  const modules = (path: string, text: string) => loadedModules(path, text, question.isOwn);
  const [old, now] = [union(question.sources, "before", modules), union(question.sources, "after", modules)];
  if (without(old, now).length === 0) return { absent: [], present: [] };
  const all = (sources: Sources) => new Set([...sources].flatMap(([path, text]) => [...modules(path, text)]));
  const [before, after] = [all(await question.before()), all(await question.after())];
  return { absent: without(before, after), present: without(after, before) };
}

/** Lines of each function that has a name, the longest where several have the same. */
function lengths(file: string, text: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const { name, startLine, endLine } of languageOf(file)?.functions(text) ?? [])
    if (!name.startsWith("<")) found.set(name, Math.max(found.get(name) ?? 0, endLine - startLine + 1));
  return found;
}

/** Statements that are false of the parent and true of the commit, about functions that nobody outside can name. */
function structure(sources: readonly ChangedFile[]): StructuralAssertion[] {
  return sources.flatMap(({ path: file, before, after }): StructuralAssertion[] => {
    const [old, now] = [lengths(file, before), lengths(file, after)];
    const gone = [...old.keys()].filter((name) => !now.has(name));
    const added = [...now.keys()].filter((name) => !old.has(name));
    const shorter = [...now].filter(([name, lines]) => {
      const earlier = old.get(name) ?? 0;
      return lines <= earlier * SHORTER && earlier - lines >= MIN_LINES_LOST;
    });
    return [
      ...gone.map((symbol) => ({ kind: "lacks", file, symbol }) as const),
      ...added.map((symbol) => ({ kind: "defines", file, symbol }) as const),
      ...shorter.map(([symbol, lines]) => ({ kind: "max-lines", file, symbol, lines }) as const),
    ];
  });
}

/** Nothing else is said beside it. */
const only = (intents: ReadonlySet<Intent>, intent: Intent): boolean =>
  intents.has(intent) && intents.size === 1;

export async function classify(question: Question): Promise<Answer> {
  const { sources, tests } = question;
  const intents = intentsOf(question.message);
  const [old, now] = [union(sources, "before", publicNames), union(sources, "after", publicNames)];
  const newNames = without(now, old);
  const tested = bringsTests(tests);
  if (only(intents, "performance") && newNames.length === 0) {
    const found = await question.workload();
    if (found === null) return { skip: "no-workload" };
    const workload = { kind: "write", path: found.path, content: found.text, encoding: "utf8" } as const;
    return {
      type: "performance",
      check: { type: "performance", workload, minSpeedup: MIN_SPEEDUP },
    };
  }
  const { absent, present } = await exchanged(question);
  if (absent.length > 0 && (present.length > 0 || question.manifestChanged))
    return { type: "migration", check: { type: "migration", absent, present } };
  if (only(intents, "refactor") && newNames.length === 0 && without(old, now).length === 0) {
    const assertions = structure(sources);
    if (assertions.length > 0)
      return { type: "refactor", check: { type: "refactor", structure: assertions } };
  }
  if (!tested) return { skip: "no-tests" };
  const testText = tests.map(({ after }) => after).join("\n");
  const isShown = newNames.some((name) => testText.includes(name.replace(/\(.*$/, "")));
  if ((isShown && !only(intents, "fix")) || only(intents, "feature")) return { type: "feature", check: null };
  return { type: "bug", check: null };
}
