/** The verdict of a chaos run: what has to fail it does, each kind of problem by its own line. */
import { describe, expect, it } from "vitest";
import { type ChaosReport, compare, type Events, exitCodeOf, renderReport } from "../../chaos/compare.ts";
import { crowdExitCode, crowdReport, renderCrowd } from "../../chaos/crowd-report.ts";
import type { RunReport } from "../../chaos/run.ts";
import type { SpendRow } from "../../chaos/spend.ts";
import { COMPARED_TABLES, type ComparedRecord, type ComparedTable } from "../../services/store/digest.ts";

const GROUP = "chaos/it/1/try/1/update/1/task/0";
const SHA256 = "ab".repeat(32);

/** One row in every table, of a column that says nothing; a group of two slots with their rollouts. */
function record(): Record<ComparedTable, Map<string, Record<string, string>>> {
  const one = (name: string) => new Map([[`${name}-1`, { key: `"${name}-1"`, value: "1" }]]);
  const tables: unknown = Object.fromEntries(COMPARED_TABLES.map((name) => [name, one(name)]));
  return {
    ...(tables as ReturnType<typeof record>),
    groups: new Map([[GROUP, { key: `"${GROUP}"`, size: "2" }]]),
    rollouts: new Map([0, 1].map((member) => [`${GROUP}/${member}`, { turns: "3" }])),
  };
}

function run(change: Partial<RunReport> = {}): RunReport {
  return {
    problem: null,
    wallSeconds: 60,
    profile: [],
    record: record(),
    accounting: {
      ...{ slots: 2, lost: 0, duplicated: 0, attempts: 2, byStatus: { accepted: 2 } },
      ...{ resumed: 0, resumedTurns: 0, startedAnew: 0, notes: {}, failures: {} },
    },
    spending: { rows: [], all: { requests: 0, answered: 0 } },
    authorAnswers: null,
    finalPolicy: "nano-1",
    policies: [
      { id: "nano-0", sha256: SHA256 },
      { id: "nano-1", sha256: SHA256 },
    ],
    restarts: {},
    live: { sandboxes: [], processes: [], connections: 1 },
    reaped: 0,
    last: { sandboxes: [], processes: [], temporary: ["node-compile-cache"] },
    ...change,
  };
}

/** Every kill and outage that was asked for fell, and nothing outlived it. */
const ALL_DONE: Events = {
  planned: 2,
  killsLeft: 0,
  killed: [
    { process: "postgres", pid: 7, below: 4, survivors: [] },
    { process: "gpu", pid: 8, below: 0, survivors: [] },
  ],
  outages: [{ process: "postgres", seconds: 60 }],
  plannedOutages: 1,
};

function verdict(
  disturbed: Partial<RunReport>,
  events: Partial<Events> = {},
  undisturbed: Partial<RunReport> = {},
): ChaosReport {
  return compare(1, run(undisturbed), run(disturbed), { ...ALL_DONE, ...events });
}

/** Exactly these lines, shown as such, and the exit code that goes with them. */
function expectProblems(report: ChaosReport, ...lines: string[]): void {
  expect(report.problems).toEqual(lines);
  expect(exitCodeOf(report)).toBe(1);
  const shown = renderReport(report).split("\n");
  for (const line of lines) expect(shown).toContain(`✗ ${line}`);
  expect(shown.at(-1)).toBe(`✗ ${lines.length} problems`);
}

/** A record with one row of a table replaced; undefined takes it out. */
function changed(table: ComparedTable, key: string, row: Record<string, string> | undefined): ComparedRecord {
  const found = record();
  if (row === undefined) found[table].delete(key);
  else found[table].set(key, row);
  return found;
}

const USED = { prompt: 10, cached: 5, reasoning: 1, text: 2, toolCalls: 3 };
const answered = (key: string): SpendRow => ({ key, used: USED, settled: true });
const spent = (rows: readonly SpendRow[], authorAnswers: number | null = null) => ({
  spending: {
    rows,
    all: { requests: rows.length, answered: rows.filter(({ used }) => used !== null).length },
  },
  authorAnswers,
});

describe("the books of an author's requests", () => {
  const undisturbed = spent([answered("a/1"), answered("a/2")], 2);

  it("may have requests that were sent again, with an answer or without", () => {
    const unknown = { key: "a/2#1", used: null, settled: true };
    const again = [answered("a/1"), answered("a/1#1"), answered("a/2"), unknown];
    for (const answers of [3, 4]) {
      const report = verdict(spent(again, answers), {}, undisturbed);
      expect(report.problems).toEqual([]);
      expect(report.disturbed.spend).toEqual({
        ...{ requests: 4, again: 2, unknown: 1, unsettled: 0, tokens: 42, tokensAgain: 21 },
      });
    }
  });

  it("have to have the same answers, and nothing that stays reserved", () => {
    const other = { ...answered("a/1"), used: { ...USED, text: 9 } };
    const open = { key: "a/2#1", used: null, settled: false };
    expectProblems(
      verdict(spent([other, open, answered("a/3")], 3), {}, undisturbed),
      "disturbed: a reservation without an outcome: a/2#1",
      "spend a/1: 21 tokens undisturbed, 28 disturbed",
      "spend a/2: 21 tokens undisturbed, no disturbed",
      "spend a/3: no tokens undisturbed, 21 disturbed",
    );
  });

  it("have every answer that the author gave, or the request that it was given to", () => {
    const same = [answered("a/1"), answered("a/2")];
    for (const answers of [1, 3])
      expectProblems(
        verdict(spent(same, answers), {}, undisturbed),
        `disturbed: the author answered ${answers} requests, the books have 2, 2 of them answered`,
      );
  });
});

const accounting = (change: object) => ({ accounting: { ...run().accounting, ...change } });

describe("two equal runs", () => {
  it("have no problem, are equal, and exit with 0", () => {
    const report = verdict({ wallSeconds: 90 });
    expect(report).toMatchObject({ problems: [], equal: true, differences: [], overhead: 0.5 });
    expect(report.kills).toEqual({ temporal: 0, postgres: 1, policy: 0, orchestrate: 0, sandbox: 0, gpu: 1 });
    expect(exitCodeOf(report)).toBe(0);
    expect(renderReport(report)).not.toContain("✗");
    expect(renderReport(report)).toContain("✓ equal, nothing lost, nothing left");
  });
});

describe("the record", () => {
  it.each(COMPARED_TABLES)("of %s: a value that differs is named with its column", (table) => {
    const [key, row] = [...record()[table]][0]!;
    const column = Object.keys(row).at(-1)!;
    const report = verdict({ record: changed(table, key, { ...row, [column]: "9" }) });
    expectProblems(report, `${table} ${key}: ${column} is ${row[column]} undisturbed, 9 disturbed`);
    expect(report.equal).toBe(false);
    expect(report.disturbed.digest.tables[table]).not.toEqual(report.undisturbed.digest.tables[table]);
  });

  it("names a row that only one of the runs has", () => {
    const less = { record: changed("updates", "updates-1", undefined) };
    expectProblems(verdict(less), "updates updates-1: only in the undisturbed run");
    expectProblems(verdict({}, {}, less), "updates updates-1: only in the disturbed run");
  });

  it("names ten differences and fails on any number", () => {
    const tasks = new Map(Array.from({ length: 30 }, (_, i) => [`t${i}`, { id: String(i) }]));
    const report = verdict({ record: { ...record(), tasks } });
    expect(report.problems).toHaveLength(10);
    expect(exitCodeOf(report)).toBe(1);
  });
});

describe("policies", () => {
  const other = "cd".repeat(32);
  it.each([
    [
      "has other bytes",
      [
        { id: "nano-0", sha256: SHA256 },
        { id: "nano-1", sha256: other },
      ],
      other,
    ],
    [
      "has no file",
      [
        { id: "nano-0", sha256: SHA256 },
        { id: "nano-1", sha256: null },
      ],
      null,
    ],
    ["is not on record", [{ id: "nano-0", sha256: SHA256 }], null],
  ])("are a problem where one %s", (_, policies, found) => {
    const report = verdict({ policies });
    expectProblems(report, `the files of policy nano-1 differ: ${SHA256} and ${found}`);
    expect(report.equal).toBe(false);
  });

  it("are a problem where both runs lack the file", () => {
    const policies = [{ id: "nano-0", sha256: null }];
    expectProblems(
      verdict({ policies }, {}, { policies }),
      "the files of policy nano-0 differ: null and null",
    );
  });

  it("are a problem where the final one differs or is missing", () => {
    expectProblems(verdict({ finalPolicy: "nano-0" }), "the final policies differ: nano-1 and nano-0");
    expectProblems(verdict({ finalPolicy: null }), "the final policies differ: nano-1 and null");
  });
});

describe("rollouts", () => {
  it("that are lost or duplicated are a problem of the run they belong to", () => {
    expectProblems(verdict(accounting({ lost: 1 })), "disturbed: 1 slots have no accepted rollout");
    expectProblems(verdict({}, {}, accounting({ lost: 2 })), "undisturbed: 2 slots have no accepted rollout");
    expectProblems(
      verdict(accounting({ duplicated: 3 })),
      "disturbed: 3 slots have more than one accepted rollout",
    );
  });

  it("of a group that never came on record count as lost, beside those of groups that did", () => {
    const without = { ...record(), groups: new Map(), rollouts: new Map() };
    const report = verdict({ record: without, ...accounting({ slots: 4, lost: 1 }) });
    expectProblems(
      report,
      "disturbed: 3 slots have no accepted rollout",
      `groups ${GROUP}: only in the undisturbed run`,
      `rollouts ${GROUP}/0: only in the undisturbed run`,
      `rollouts ${GROUP}/1: only in the undisturbed run`,
    );
    expect(report.disturbed.rollouts).toMatchObject({ slots: 6, lost: 3 });
  });
});

describe("what is left", () => {
  const { live, last } = run();
  it.each([
    ["a sandbox", { live: { ...live, sandboxes: ["s/1"] } }, "sandbox left: s/1"],
    ["a sandbox at last", { last: { ...last, sandboxes: ["s/2"] } }, "sandbox left: s/2"],
    ["a process", { live: { ...live, processes: ["7 node x"] } }, "process left: 7 node x"],
    ["a process at last", { last: { ...last, processes: ["8 sh"] } }, "process left: 8 sh"],
  ])("%s, in either run", (_, left, line) => {
    expectProblems(verdict(left), `disturbed: ${line}`);
    expectProblems(verdict({}, {}, left), `undisturbed: ${line}`);
  });

  it("a sandbox and a process seen twice are named once", () => {
    const twice = { sandboxes: ["s/1"], processes: ["7 node x"] };
    const report = verdict({ live: { ...live, ...twice }, last: { ...last, ...twice } });
    expectProblems(report, "disturbed: sandbox left: s/1", "disturbed: process left: 7 node x");
  });

  it("connections beyond those that the undisturbed run has", () => {
    expectProblems(verdict({ live: { ...live, connections: 4 } }), "disturbed: 3 database connections left");
    expect(verdict({ live: { ...live, connections: 0 } }).problems).toEqual([]);
  });

  it("temporary files by name: one more hides behind one that is gone no longer", () => {
    const temporary = (...names: string[]) => ({ last: { ...last, temporary: names } });
    const half = "artifacts/incoming/123@host@00000000-0000-4000-8000-000000000001";
    expectProblems(verdict(temporary("node-compile-cache", half)), `disturbed: temporary file left: ${half}`);
    expectProblems(verdict(temporary("core.17")), "disturbed: temporary file left: core.17");
    expectProblems(
      verdict(temporary("node-compile-cache", "a-x", "b-y"), {}, temporary("a-x", "c", "d", "e")),
      "disturbed: temporary file left: node-compile-cache",
      "disturbed: temporary file left: b-y",
    );
    expect(verdict(temporary()).problems).toEqual([]);
  });
});

describe("what was asked for", () => {
  it("kills that did not fall are a problem", () => {
    expectProblems(
      verdict({}, { planned: 6, killsLeft: 4 }),
      "only 2 of 6 kills fell before the run ended: ask for fewer, or for a longer experiment",
    );
  });

  it("outages that did not fall are a problem", () => {
    expectProblems(
      verdict({}, { plannedOutages: 3 }),
      "only 1 of 3 outages fell into a climb: the experiment has too few iterations",
    );
  });

  it("what outlived a SIGKILL is a problem", () => {
    const [first, second] = ALL_DONE.killed;
    const killed = [{ ...first!, survivors: ["9 postgres: writer", "10 sh"] }, second!];
    expectProblems(
      verdict({}, { killed }),
      "outlived the SIGKILL of postgres: 9 postgres: writer",
      "outlived the SIGKILL of postgres: 10 sh",
    );
  });

  it("a run that did not end well is a problem, whichever it is", () => {
    expectProblems(
      verdict({ problem: "the experiment is held: stall" }),
      "disturbed: the experiment is held: stall",
    );
    expectProblems(verdict({}, {}, { problem: "it failed" }), "undisturbed: it failed");
  });

  it("every problem is told, not only the first kind", () => {
    const report = verdict({ problem: "it failed", finalPolicy: null, ...accounting({ lost: 1 }) });
    expectProblems(
      report,
      "disturbed: it failed",
      "disturbed: 1 slots have no accepted rollout",
      "the final policies differ: nano-1 and null",
    );
  });
});

describe("a crowd of sandboxes", () => {
  const slots = [0, 1].map((member) => `${GROUP}/${member}`);
  const crowd = {
    killed: { process: "sandbox", pid: 7, below: 0, survivors: [] },
    ...{ live: 2, interrupted: slots, gone: [slots[1]!] },
    returns: new Map([
      [slots[0]!, "adopted"],
      [slots[1]!, "replayed"],
    ] as const),
  } as const;
  const scored = (...rewards: string[]) => {
    const row = (reward: string) => ({ turns: "3", raw_reward: reward });
    const rollouts = new Map(rewards.map((reward, n) => [slots[n]!, row(reward)]));
    return run({ record: { ...record(), rollouts } });
  };
  const asked = { seed: 1, runtime: "docker", live: 2 } as const;

  it("that came back whole is no problem", () => {
    const report = crowdReport(asked, crowd, scored("1", "0"), scored("1", "0"));
    expect(report).toMatchObject({ live: 2, gone: 1, lost: [], scoredZero: [] });
    expect(report.returns).toEqual({ adopted: 1, replayed: 1, anew: 0 });
    expect(report.runs.problems).toEqual([]);
    expect(crowdExitCode(report)).toBe(0);
    expect(renderCrowd(report)).toContain("1 adopted, 1 replayed, 0 begun anew, 0 lost, 0 scored 0 for it");
  });

  it("is one where a rollout is scored 0 for it, lost, or where too few lived", () => {
    const zero = crowdReport(asked, crowd, scored("1", "0"), scored("0", "0"));
    expect(zero.scoredZero).toEqual([slots[0]]);
    expect(zero.runs.problems[0]).toBe(`interrupted and scored 0, undisturbed 1: ${slots[0]}`);
    const lost = crowdReport(asked, crowd, scored("1", "0"), scored("1"));
    expect(lost.lost).toEqual([slots[1]]);
    expect(lost.runs.problems[0]).toBe(`interrupted and lost: ${slots[1]}`);
    const few = { killed: null, live: 1, interrupted: [], gone: [], returns: new Map() };
    const none = crowdReport(asked, few, scored("1", "0"), scored("1", "0"));
    expect(none.runs.problems[0]).toBe("only 1 of 2 sandboxes lived at once");
    expect([zero, lost, none].map(crowdExitCode)).toEqual([1, 1, 1]);
  });
});
