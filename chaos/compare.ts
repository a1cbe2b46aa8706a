/** Whether a disturbed run ended as the undisturbed one did, and with clean hands: what `npm run chaos` says. */
import { formatSeconds, formatTable } from "../apps/cli/output.ts";
import type { ProcessName } from "../infra/stack/index.ts";
import type { Accounting } from "../services/store/accounting.ts";
import {
  type ComparedRecord,
  digestOf,
  type RecordDigest,
  type RowDifference,
  recordDifferences,
} from "../services/store/digest.ts";
import type { Killed } from "./kill.ts";
import { unusualNames } from "./leaks.ts";
import { type Outage, TARGETS } from "./plan.ts";
import type { PolicyFile, RunReport } from "./run.ts";
import { authorProblems, type SpendFigures, spendFigures, spendProblems } from "./spend.ts";

const SHOWN_DIFFERENCES = 10;

/** What happened to a run beside itself. */
export interface Events {
  readonly planned: number;
  readonly killsLeft: number;
  readonly killed: readonly Killed[];
  readonly outages: readonly Outage[];
  readonly plannedOutages: number;
}

interface RunFigures {
  readonly problem: string | null;
  readonly wallSeconds: number;
  readonly digest: RecordDigest;
  readonly finalPolicy: string | null;
  readonly policies: readonly PolicyFile[];
  readonly rollouts: Accounting;
  readonly spend: SpendFigures;
  /** Candidates whose result was read, and tasks that were admitted. */
  readonly pool: { readonly candidates: number; readonly admitted: number };
  readonly authorAnswers: number | null;
  readonly restarts: Readonly<Record<string, number>>;
  readonly leaked: {
    readonly sandboxes: readonly string[];
    readonly processes: readonly string[];
    /** Everything that is there, usual or not. */
    readonly temporary: readonly string[];
    readonly connections: number;
  };
}

export interface ChaosReport {
  readonly seed: number;
  readonly equal: boolean;
  /** One line each; empty = nothing differs and nothing is left. */
  readonly problems: readonly string[];
  readonly kills: Readonly<Record<ProcessName, number>>;
  readonly plannedKills: number;
  readonly outages: readonly Outage[];
  /** Wall time over that of the undisturbed run. */
  readonly overhead: number;
  readonly differences: readonly RowDifference[];
  readonly undisturbed: RunFigures;
  readonly disturbed: RunFigures;
}

export function compare(
  seed: number,
  undisturbed: RunReport,
  disturbed: RunReport,
  events: Events,
): ChaosReport {
  const left = figures(undisturbed, { slots: 0, connections: 0 });
  const right = figures(disturbed, {
    slots: unrecordedSlots(undisturbed.record, disturbed.record),
    connections: undisturbed.live.connections,
  });
  const differences = recordDifferences(undisturbed.record, disturbed.record, SHOWN_DIFFERENCES);
  const count = (name: ProcessName) => events.killed.filter(({ process }) => process === name).length;
  const problems = [
    ...runProblems("undisturbed", left),
    ...runProblems("disturbed", right),
    ...leftProblems(left, right),
    ...events.killed.flatMap(({ process, survivors }) =>
      survivors.map((survivor) => `outlived the SIGKILL of ${process}: ${survivor}`),
    ),
    ...policyProblems(left, right),
    ...spendProblems(undisturbed.spending, disturbed.spending),
    ...authorProblems("undisturbed", undisturbed.spending, undisturbed.authorAnswers),
    ...authorProblems("disturbed", disturbed.spending, disturbed.authorAnswers),
    ...planProblems(events),
    ...differences.map(describeDifference),
  ];
  return {
    seed,
    equal: left.digest.sha256 === right.digest.sha256 && policyProblems(left, right).length === 0,
    problems,
    kills: Object.fromEntries(TARGETS.map((name) => [name, count(name)])) as ChaosReport["kills"],
    plannedKills: events.planned,
    outages: events.outages,
    overhead: disturbed.wallSeconds / undisturbed.wallSeconds - 1,
    differences,
    undisturbed: left,
    disturbed: right,
  };
}

/** A group is on record once all of its slots are done; those of one that never came to be have no rollout either. */
function unrecordedSlots(expected: ComparedRecord, found: ComparedRecord): number {
  return [...expected.groups]
    .filter(([key]) => !found.groups.has(key))
    .reduce((sum, [, group]) => sum + Number(group.size), 0);
}

/** `missing`: slots of groups that are not on record. Pools keep idle connections for a while; as many as are usual are no leak. */
function figures(
  run: RunReport,
  { slots: missing, connections: usual }: { readonly slots: number; readonly connections: number },
): RunFigures {
  const { slots, lost } = run.accounting;
  return {
    problem: run.problem,
    wallSeconds: run.wallSeconds,
    digest: digestOf(run.record),
    finalPolicy: run.finalPolicy,
    policies: run.policies,
    rollouts: { ...run.accounting, slots: slots + missing, lost: lost + missing },
    spend: spendFigures(run.spending),
    pool: poolOf(run.record),
    authorAnswers: run.authorAnswers,
    restarts: run.restarts,
    leaked: {
      sandboxes: [...new Set([...run.live.sandboxes, ...run.last.sandboxes])],
      processes: [...new Set([...run.live.processes, ...run.last.processes])],
      temporary: run.last.temporary,
      connections: Math.max(0, run.live.connections - usual),
    },
  };
}

function poolOf({ validations, probes }: ComparedRecord): RunFigures["pool"] {
  const admitted = [...probes.values()].filter((row) => row.decision === '"admit"').length;
  return { candidates: validations.size, admitted };
}

function runProblems(name: string, run: RunFigures): string[] {
  const { lost, duplicated } = run.rollouts;
  return [
    ...(run.problem === null ? [] : [`${name}: ${run.problem}`]),
    ...(lost === 0 ? [] : [`${name}: ${lost} slots have no accepted rollout`]),
    ...(duplicated === 0 ? [] : [`${name}: ${duplicated} slots have more than one accepted rollout`]),
    ...run.leaked.sandboxes.map((slot) => `${name}: sandbox left: ${slot}`),
    ...run.leaked.processes.map((process) => `${name}: process left: ${process}`),
  ];
}

/** Of these a few are usual: what the undisturbed run leaves as well is no leak. */
function leftProblems(undisturbed: RunFigures, disturbed: RunFigures): string[] {
  return [
    ...unusualNames(undisturbed.leaked.temporary, disturbed.leaked.temporary).map(
      (name) => `disturbed: temporary file left: ${name}`,
    ),
    ...(disturbed.leaked.connections > 0
      ? [`disturbed: ${disturbed.leaked.connections} database connections left`]
      : []),
  ];
}

/** A run that ends before all was done to it shows less than what was asked for. */
function planProblems({ planned, killsLeft, outages, plannedOutages }: Events): string[] {
  return [
    ...(killsLeft > 0
      ? [
          `only ${planned - killsLeft} of ${planned} kills fell before the run ended: ask for fewer, or for a longer experiment`,
        ]
      : []),
    ...(outages.length < plannedOutages
      ? [
          `only ${outages.length} of ${plannedOutages} outages fell into a climb: the experiment has too few iterations`,
        ]
      : []),
  ];
}

function policyProblems(left: RunFigures, right: RunFigures): string[] {
  const sha256 = new Map(right.policies.map((policy) => [policy.id, policy.sha256]));
  return [
    ...(left.finalPolicy === right.finalPolicy
      ? []
      : [`the final policies differ: ${left.finalPolicy} and ${right.finalPolicy}`]),
    ...left.policies.flatMap((policy) =>
      policy.sha256 !== null && sha256.get(policy.id) === policy.sha256
        ? []
        : [`the files of policy ${policy.id} differ: ${policy.sha256} and ${sha256.get(policy.id) ?? null}`],
    ),
  ];
}

export function describeDifference({ table, key, column, left, right }: RowDifference): string {
  if (column === null)
    return `${table} ${key}: only in the ${left === null ? "disturbed" : "undisturbed"} run`;
  return `${table} ${key}: ${column} is ${left} undisturbed, ${right} disturbed`;
}

export function exitCodeOf(report: ChaosReport): number {
  return report.equal && report.problems.length === 0 ? 0 : 1;
}

export function renderReport(report: ChaosReport): string {
  const runs = [report.undisturbed, report.disturbed] as const;
  const row = (name: string, of: (run: RunFigures) => string | number) => ({ name, values: runs.map(of) });
  const count = (status: string) => (run: RunFigures) => run.rollouts.byStatus[status] ?? 0;
  const rows = [
    row("record (digest)", (run) => run.digest.sha256.slice(0, 16)),
    row("final policy", (run) => run.finalPolicy ?? "none"),
    row("policy files", (run) => run.policies.length),
    row("slots", (run) => run.rollouts.slots),
    row("lost", (run) => run.rollouts.lost),
    row("duplicated", (run) => run.rollouts.duplicated),
    row("attempts", (run) => run.rollouts.attempts),
    row("  superseded", count("superseded")),
    row("  failed", count("failed")),
    row("  resumed", (run) => run.rollouts.resumed),
    row("  turns not sampled again", (run) => run.rollouts.resumedTurns),
    row("  started anew", (run) => run.rollouts.startedAnew),
    row("candidates", (run) => run.pool.candidates),
    row("admitted", (run) => run.pool.admitted),
    ...(runs.some(({ spend }) => spend.requests > 0)
      ? [
          row("requests to the author", (run) => run.spend.requests),
          row("  sent again", (run) => run.spend.again),
          row("  of these without an answer", (run) => run.spend.unknown),
          row("  still reserved", (run) => run.spend.unsettled),
          row("  tokens", (run) => run.spend.tokens),
          row("  tokens sent again", (run) => run.spend.tokensAgain),
          row("answered by the author", (run) => run.authorAnswers ?? "-"),
        ]
      : []),
    row("leaked sandboxes", (run) => run.leaked.sandboxes.length),
    row("leaked processes", (run) => run.leaked.processes.length),
    row("temporary files", (run) => run.leaked.temporary.length),
    row("leaked connections", (run) => run.leaked.connections),
    row("wall time", (run) => formatSeconds(run.wallSeconds)),
  ];
  const table = formatTable(rows, [
    { title: "", value: ({ name }) => name },
    { title: "undisturbed", align: "right", value: ({ values }) => values[0]! },
    { title: "disturbed", align: "right", value: ({ values }) => values[1]! },
  ]);
  const done = Object.values(report.kills).reduce((sum, kills) => sum + kills, 0);
  const kills = Object.entries(report.kills).map(([name, kills]) => `${name} ${kills}`);
  const outages = report.outages.map(({ process, seconds }) => `${process} down for ${seconds} s`);
  return [
    table,
    "",
    `kills: ${done} (${kills.join(", ")})${outages.length > 0 ? `; ${outages.join(", ")}` : ""}`,
    `wall time over the undisturbed run: ${(report.overhead * 100).toFixed(0)} %`,
    ...report.problems.map((problem) => `✗ ${problem}`),
    exitCodeOf(report) === 0 ? "✓ equal, nothing lost, nothing left" : `✗ ${report.problems.length} problems`,
  ].join("\n");
}
