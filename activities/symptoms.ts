/** What a diagnosis rests on, read off a group's rollouts: their rows, their verdicts' logs, and the commands they ran. */
import type { ArtifactRef } from "../core/artifact.ts";
import type { RolloutSummary, Symptoms } from "../core/diagnosis.ts";
import type { Decision } from "../core/learnability.ts";
import type { Reproduction, Statement, Task, VerdictRule } from "../core/task.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { VerdictLog } from "../core/verdict-log.ts";
import { type ArtifactStore, getJson, type RolloutRow } from "../services/store/index.ts";

const RUNS_TESTS =
  /\b(npm (run )?t(est)?|npx (tape|jest|vitest|mocha|ava)|node --test|tape|jest|vitest|mocha|pytest|unittest|go test|cargo test)\b|(^|[\s/])(__tests__|tests?|spec)\//;

export async function symptomsOf(
  artifacts: ArtifactStore,
  {
    decision,
    task,
    statement,
    rows,
  }: {
    readonly decision: Decision;
    readonly task: Task;
    readonly statement: Statement;
    readonly rows: readonly RolloutRow[];
  },
): Promise<Symptoms> {
  const logs = await Promise.all(
    rows.map(({ verdict_log: ref }) =>
      ref === null ? null : getJson<VerdictLog>(artifacts, ref as ArtifactRef),
    ),
  );
  const shown = statement.level >= 1 ? task.facts.reproduction : null;
  return {
    decision,
    level: statement.level,
    neededLevel: task.facts.neededLevel ?? 0,
    names: namedPlace(task, statement),
    goldLines: logs.find((log) => log?.goldLines !== undefined)?.goldLines ?? null,
    rollouts: await Promise.all(
      rows.map(async (row, i) => {
        const trajectory = await getJson<Trajectory>(artifacts, row.trajectory as ArtifactRef);
        return summaryOf(row, { task, shown, log: logs[i]!, trajectory });
      }),
    ),
  };
}

function summaryOf(
  row: RolloutRow,
  of: {
    readonly task: Task;
    readonly shown: Reproduction | null;
    readonly log: VerdictLog | null;
    readonly trajectory: Trajectory;
  },
): RolloutSummary {
  const { task, shown, log, trajectory } = of;
  const commands = commandsOf(trajectory);
  return {
    passed: row.raw_reward === 1,
    truncated: row.truncated,
    rule: row.rule as VerdictRule | null,
    reach: log?.reach ?? null,
    lines: log?.lines ?? null,
    tree: row.tree_hash,
    failing: log === null ? [] : failingOf(task, log),
    flags: log?.flags ?? [],
    ranTests: commands.some(({ command }) => RUNS_TESTS.test(command)),
    reproduced: shown === null ? null : reproduced(shown, commands),
  };
}

function failingOf({ failToPass, passToPass }: Task, { statuses, offending }: VerdictLog): readonly string[] {
  if (Object.keys(statuses).length === 0) return offending;
  return [...failToPass, ...passToPass].filter((name) => statuses[name] !== "passed");
}

interface Command {
  readonly command: string;
  readonly result: string;
}

function commandsOf({ turns }: Trajectory): Command[] {
  return turns.flatMap(({ toolCalls, results }) =>
    toolCalls.flatMap(({ name, arguments: written }, i) => {
      const command = name === "Bash" ? commandIn(written) : null;
      return command === null ? [] : [{ command, result: results[i] ?? "" }];
    }),
  );
}

function commandIn(written: string): string | null {
  try {
    const { command } = JSON.parse(written) as { readonly command?: unknown };
    return typeof command === "string" ? command : null;
  } catch {
    return null;
  }
}

/** By the last time that it ran the statement's command. */
function reproduced({ command, code, expected }: Reproduction, commands: readonly Command[]): boolean {
  const last = commands.findLast((one) => one.command.includes(command) || one.command.includes(code));
  return last?.result.includes(expected) ?? false;
}

function namedPlace(task: Task, { level, text }: Statement): Symptoms["names"] {
  const { sites } = task.facts;
  if (level >= 3 || sites.some(({ file }) => text.includes(file))) return "place";
  const named = sites.some(({ functionName }) => text.includes(`\`${functionName}\``));
  return level >= 2 || named ? "function" : null;
}
