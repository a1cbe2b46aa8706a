/** Rewriting a task's text with its author's model: the same change and tests, other words, and the gates of statements in between. */
import type { AuthoredText, FileChange, StatementLevel, Task, TaskOrigin } from "../../core/task.ts";
import { rewriteText } from "../author/index.ts";
import type { PreparedEnvironment } from "../environments/types.ts";
import { baseText } from "./base-tree.ts";
import { taskId, textsOf } from "./changes.ts";
import { type Benchmark, contaminated } from "./contamination.ts";
import { determined, hiddenTests } from "./determined.ts";
import { hunksOf } from "./gates/hunks.ts";
import { findLeaks } from "./leaks.ts";
import { packageOf, writeStatement } from "./statement.ts";
import type { AuthorBrief, RewriteRequest, SynthesisService } from "./types.ts";

const LEVELS: readonly StatementLevel[] = [0, 1, 2, 3];

export async function rewriteTask(
  { root }: Pick<PreparedEnvironment, "root">,
  { task, level, action, diagnosis, round, benchmarks = [] }: RewriteRequest,
  author: AuthorBrief,
  signal?: AbortSignal,
): ReturnType<SynthesisService["rewrite"]> {
  const topic = {
    package: packageOf(task.environment),
    type: task.type,
    action,
    diagnosis: diagnosis === null ? "nothing in particular" : `${diagnosis.cause}: ${diagnosis.evidence}`,
    statement: writeStatement(task, level).text,
    gold: goldText(root, task),
    tests: [...hiddenTests(root, task)].map(([path, text]) => `${path}:\n${text}`).join("\n\n"),
  };
  const judge = (text: AuthoredText) =>
    judged(task, text, { task: task.id, action, round }, root, benchmarks);
  const text = await rewriteText(topic, author, (given) => judge(given).problems, signal);
  if ("none" in text) return text;
  const { made, evidence, shared } = judge(text);
  return {
    task: made,
    gates: [
      { gate: "leak", passed: true, evidence: "no level tells more than it may" },
      { gate: "determined", passed: true, evidence },
      ...(benchmarks.length === 0
        ? []
        : [{ gate: "contamination" as const, passed: true, evidence: shared.evidence }]),
    ],
  };
}

/** The same task with another text, what the gates of statements say of it, and what of the old contract it no longer says. */
function judged(
  before: Task,
  text: AuthoredText,
  revises: NonNullable<TaskOrigin["revises"]>,
  root: string,
  benchmarks: readonly Benchmark[],
): {
  readonly made: Task;
  readonly problems: readonly string[];
  readonly evidence: string;
  readonly shared: ReturnType<typeof contaminated>;
} {
  const { neededLevel: _, ...facts } = before.facts;
  const worded = { ...before, facts: { ...facts, text, origin: { ...facts.origin, revises } } };
  const { passed, evidence, neededLevel } = determined(worded, root);
  const made = {
    ...worded,
    // It covers the text: another text is another task.
    id: taskId(worded),
    facts: { ...worded.facts, ...(neededLevel > 0 && { neededLevel }) },
  };
  const leaks = LEVELS.flatMap((level) => findLeaks(made, writeStatement(made, level), root));
  const said = [text.title, text.body, text.contract].join("\n");
  const unsaid = specified(facts.text?.contract ?? "").filter((span) => !said.includes(span));
  // Change and tests are those of the task before, which were looked at.
  const shared = contaminated(
    [
      { part: "the text", text: said },
      { part: "the statement", text: writeStatement(made, 3).text },
    ],
    benchmarks,
  );
  const problems = [
    ...new Set(leaks.map((leak) => `it tells ${leak}`)),
    ...(passed ? [] : [evidence]),
    ...(shared.passed ? [] : [shared.evidence]),
    ...(made.id === before.id ? ["it is the text as it was"] : []),
    ...unsaid.map((span) => `the contract said \`${span}\`, which is said no more`),
  ];
  return { made, problems, evidence, shared };
}

/** Names and values that a contract quotes. */
const specified = (contract: string): string[] => [
  ...new Set([...contract.matchAll(/`([^`\n]+)`/g)].map(([, span]) => span!)),
];

/** The lines that the solution takes away and adds, by file. */
function goldText(root: string, task: Task): string {
  const before = baseText(root, task.base);
  const after = textsOf(task.gold);
  return task.gold.map((change) => fileText(change, before(change.path), after)).join("\n\n");
}

function fileText({ path, kind }: FileChange, old: string, after: ReadonlyMap<string, string>): string {
  if (kind !== "write") return `${path}: ${kind === "delete" ? "deleted" : "a link"}`;
  const lines = old.split("\n");
  const hunks = hunksOf(path, old, after.get(path)!).map(({ start, end, lines: added }) =>
    [
      `@@ line ${start + 1}`,
      ...lines.slice(start, end).map((line) => `-${line}`),
      ...added.map((line) => `+${line}`),
    ].join("\n"),
  );
  return `${path}:\n${hunks.join("\n")}`;
}
