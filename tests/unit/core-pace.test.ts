/** The pace of an asynchronous climb, whatever order things happen in: the bound holds, nothing is lost or used twice, counts add up, it ends. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Pace, type PaceDecision, type PaceSettings } from "../../core/pace.ts";
import type { PacedGroup } from "../../core/pace-groups.ts";
import { type RandomStream, random } from "../../core/random.ts";

const SETTINGS: PaceSettings = {
  ...{ updates: 12, batch: 3, groupSize: 2, trajectories: 12, maxLag: 1 },
  ...{ stale: "refresh", onPublish: "keep", budget: null },
};

type Of<K extends PaceDecision["kind"]> = Extract<PaceDecision, { kind: K }>;

interface Played {
  readonly decisions: readonly PaceDecision[];
  /** Groups in progress when each was taken. */
  readonly flying: readonly number[];
  /** Policy version of each update's parent. */
  readonly parents: readonly number[];
  /** At the end. */
  readonly pace: Pace;
}

/** What may go wrong beside the order of things. */
interface Trouble {
  /** Chance that a batch has nothing to learn from. */
  readonly uniform: number;
  /** Chance that a group's policy is not known. */
  readonly unknown: number;
  /** Chance, at each step, that the state is carried over to another run. */
  readonly cut: number;
}

const NO_TROUBLE: Trouble = { uniform: 0, unknown: 0, cut: 0 };
const STEPS = 20_000;

/** Something that is going on ends next, drawn by `stream`, until the pace says that it is over. `slow` groups end only when nothing else can. */
function play(
  settings: PaceSettings,
  stream: RandomStream,
  { uniform, unknown, cut }: Trouble = NO_TROUBLE,
  slow: (group: PacedGroup) => boolean = () => false,
): Played {
  let pace = new Pace(settings);
  let closing = false;
  const decisions: PaceDecision[] = [];
  const inProgress: number[] = [];
  const parents: number[] = [];
  const flying = new Map<number, PacedGroup>();
  let updating = false;
  let publishing = false;
  for (let step = 0; step < STEPS; step++) {
    if (!closing && stream.next() < cut) {
      closing = true;
      pace.close();
    }
    for (;;) {
      const decision = pace.next();
      if (decision === null) break;
      decisions.push(decision);
      inProgress.push(flying.size);
      if (decision.kind === "end") return { decisions, flying: inProgress, parents, pace };
      if (decision.kind === "start") flying.set(decision.group.serial, decision.group);
      if (decision.kind === "leave") flying.delete(decision.group.serial);
      if (decision.kind === "publish") publishing = true;
      if (decision.kind === "update") {
        updating = true;
        parents.push(pace.state.trained);
      }
      expect(flying.size * settings.groupSize).toBeLessThanOrEqual(settings.trajectories);
    }
    if (closing && pace.atRest) {
      closing = false;
      pace = new Pace(settings, JSON.parse(JSON.stringify(pace.state)));
      continue;
    }
    const quick = [...flying.values()].filter((group) => !slow(group));
    const going: (PacedGroup | "update" | "publish")[] = [
      ...quick,
      ...(updating ? (["update"] as const) : []),
      ...(publishing ? (["publish"] as const) : []),
    ];
    const what = stream.pick(going.length > 0 ? going : [...flying.values()]);
    if (what === "update") {
      updating = false;
      pace.updated(stream.next() >= uniform);
    } else if (what === "publish") {
      publishing = false;
      pace.published();
    } else {
      flying.delete(what.serial);
      const span = settings.onPublish === "continue" ? pace.state.published - what.version + 1 : 1;
      const oldest = what.version + stream.integer(span);
      pace.finished(what.serial, stream.next() < unknown ? null : oldest, settings.groupSize);
    }
  }
  throw new Error("it does not end");
}

const ofKind = <K extends PaceDecision["kind"]>({ decisions }: Played, kind: K): Of<K>[] =>
  decisions.filter((decision): decision is Of<K> => decision.kind === kind);
const serials = (groups: readonly PacedGroup[]) => groups.map(({ serial }) => serial);
const placeOf = ({ deal, position }: PacedGroup) => `${deal}/${position}`;
const sum = (counts: Readonly<Record<string, number>>) => Object.values(counts).reduce((a, b) => a + b, 0);

const arbitrary = fc.record({
  seed: fc.nat(),
  settings: fc.record({
    updates: fc.integer({ min: 1, max: 12 }),
    batch: fc.integer({ min: 1, max: 5 }),
    groupSize: fc.constant(2),
    trajectories: fc.integer({ min: 2, max: 40 }),
    maxLag: fc.integer({ min: 0, max: 3 }),
    stale: fc.constantFrom("refresh" as const, "drop" as const),
    onPublish: fc.constantFrom("keep" as const, "drain" as const, "continue" as const),
    budget: fc.constant(null),
  }),
  trouble: fc.record({
    uniform: fc.constantFrom(0, 0.3),
    unknown: fc.constantFrom(0, 0.1),
    cut: fc.constantFrom(0, 0.05),
  }),
  slow: fc.constantFrom(0, 0.2, 0.6),
});
type Case = typeof arbitrary extends fc.Arbitrary<infer T> ? T : never;

function check(what: (played: Played, of: Case) => void): void {
  fc.assert(
    fc.property(arbitrary, (of) => {
      const stream = random(of.seed, "pace");
      const lazy = random(of.seed, "slow");
      const isSlow = new Map<number, boolean>();
      const slow = ({ serial }: PacedGroup) => {
        if (!isSlow.has(serial)) isSlow.set(serial, lazy.next() < of.slow);
        return isSlow.get(serial)!;
      };
      what(play(of.settings, stream, of.trouble, slow), of);
    }),
    { numRuns: 150 },
  );
}

describe("in any order of events", () => {
  it("ends with all its updates, each of a whole batch", () => {
    check((played, { settings }) => {
      const updates = ofKind(played, "update");
      expect(updates.map(({ update }) => update)).toEqual(
        Array.from({ length: settings.updates }, (_, i) => i + 1),
      );
      for (const { groups } of updates) expect(groups).toHaveLength(settings.batch);
      expect(played.decisions.at(-1)).toEqual({ kind: "end", reason: "updates" });
      expect(played.pace.state.published).toBe(played.pace.state.trained);
    });
  });

  it("trains on no token that is older than the bound, by the version that the update changes", () => {
    check((played, { settings }) => {
      for (const [index, { groups }] of ofKind(played, "update").entries())
        for (const { oldest } of groups)
          expect(played.parents[index]! - oldest!).toBeLessThanOrEqual(settings.maxLag);
    });
  });

  it("loses no group and uses none twice", () => {
    check((played) => {
      const started = serials(ofKind(played, "start").map(({ group }) => group));
      const used = ofKind(played, "update").flatMap(({ groups }) => serials(groups));
      const gone = serials(ofKind(played, "leave").map(({ group }) => group));
      expect([...used, ...gone, ...serials(played.pace.state.groups)].sort()).toEqual([...started].sort());
      expect(new Set(started).size).toBe(started.length);
    });
  });

  it("counts what left, with its reason", () => {
    check((played) => {
      const counted = { refreshed: 0, dropped: 0 };
      for (const { left } of [...ofKind(played, "update"), played.pace.state]) {
        counted.refreshed += sum(left.refreshed);
        counted.dropped += sum(left.dropped);
      }
      const gone = ofKind(played, "leave");
      expect(counted).toEqual({
        refreshed: gone.filter(({ refreshed }) => refreshed).length,
        dropped: gone.filter(({ refreshed }) => !refreshed).length,
      });
    });
  });

  it("samples each task anew once, and then uses it: with known policies no task that was begun is left out", () => {
    check((played, { settings, trouble }) => {
      if (settings.stale !== "refresh" || trouble.unknown > 0) return;
      expect(ofKind(played, "leave").filter(({ refreshed }) => !refreshed)).toEqual([]);
      const used = ofKind(played, "update").flatMap(({ groups }) => groups);
      const begun = ofKind(played, "start").map(({ group }) => group);
      expect(used.map(placeOf).sort()).toEqual([...new Set(begun.map(placeOf))].sort());
      for (const { again } of begun) expect(again).toBeLessThanOrEqual(1);
    });
  });

  it("has nothing in progress where a version is published that trajectories must not meet, and starts none until it is", () => {
    check(({ decisions, flying }, { settings }) => {
      if (settings.onPublish !== "drain") return;
      let published = 0;
      for (const [index, decision] of decisions.entries()) {
        if (decision.kind === "start") expect(decision.group.version).toBe(published);
        if (decision.kind !== "publish") continue;
        expect(flying[index]).toBe(0);
        published = decision.version;
      }
    });
  });
});

describe("pace", () => {
  const first = (decisions: readonly PaceDecision[], count: number) =>
    decisions.slice(0, count).map(({ kind }) => kind);

  it("with lag 0 starts one batch, and nothing while an update is made", () => {
    const pace = new Pace({ ...SETTINGS, maxLag: 0, trajectories: 100 });
    expect(first(drain(pace), 9)).toEqual(["start", "start", "start"]);
    for (const serial of [0, 1, 2]) pace.finished(serial, 0, 2);
    expect(drain(pace).map(({ kind }) => kind)).toEqual(["update"]);
    pace.updated(true);
    expect(drain(pace).map(({ kind }) => kind)).toEqual(["publish"]);
    pace.published();
    expect(drain(pace).map(({ kind }) => kind)).toEqual(["start", "start", "start"]);
  });

  it("with lag 1 collects the next batch while an update is made, by the version before it", () => {
    const pace = new Pace({ ...SETTINGS, trajectories: 100 });
    expect(drain(pace)).toHaveLength(6);
    for (const serial of [0, 1, 2]) pace.finished(serial, 0, 2);
    expect(drain(pace).map(({ kind }) => kind)).toEqual(["update"]);
  });

  it("goes on without a slow group, and samples it anew once it is too old", () => {
    const played = play(SETTINGS, random(1), NO_TROUBLE, ({ serial }) => serial === 0);
    const left = ofKind(played, "leave").find(({ group }) => group.serial === 0);
    expect(left).toMatchObject({ group: { version: 0 }, reason: "too-slow", refreshed: true });
    const starts = ofKind(played, "start").map(({ group }) => group);
    const again = starts.find(({ deal, position, again }) => deal === 1 && position === 0 && again === 1)!;
    expect(again.version).toBeGreaterThan(0);
    expect(ofKind(played, "update").flatMap(({ groups }) => serials(groups))).toContain(again.serial);
  });

  it("waits for what was sampled anew, however slow", () => {
    const slow = ({ serial, again }: PacedGroup) => serial === 0 || again > 0;
    const left = ofKind(play(SETTINGS, random(1), NO_TROUBLE, slow), "leave");
    expect(left.length).toBeGreaterThan(0);
    expect(left.every(({ group }) => group.again === 0)).toBe(true);
  });

  it("drops a slow group where it is told to, and counts it with the update after", () => {
    const settings = { ...SETTINGS, stale: "drop" as const };
    const played = play(settings, random(1), NO_TROUBLE, ({ serial }) => serial === 0);
    const at = played.decisions.findIndex(
      (decision) => decision.kind === "leave" && decision.group.serial === 0,
    );
    expect(played.decisions[at]).toMatchObject({ reason: "too-slow", refreshed: false });
    const next = played.decisions.slice(at).find(({ kind }) => kind === "update") as Of<"update">;
    expect(next.left.dropped["too-slow"]).toBeGreaterThan(0);
    expect(ofKind(played, "start").every(({ group }) => group.again === 0)).toBe(true);
  });

  it("does not believe a group in progress too old whose tokens may be newer than its start", () => {
    const settings = { ...SETTINGS, onPublish: "continue" as const };
    const played = play(settings, random(1), NO_TROUBLE, ({ serial }) => serial === 0);
    expect(ofKind(played, "leave").every(({ reason }) => reason === "too-old")).toBe(true);
  });

  it("refuses a sample of a policy that it does not know twice, and then drops it", () => {
    const played = play({ ...SETTINGS, updates: 4 }, random(5), { ...NO_TROUBLE, unknown: 0.4 });
    const left = ofKind(played, "leave").filter(({ reason }) => reason === "unknown-version");
    expect(left.some(({ refreshed }) => refreshed)).toBe(true);
    expect(left.every(({ refreshed, group }) => refreshed === (group.again === 0))).toBe(true);
  });

  it.each([
    ["two batches", 12, 2],
    ["two batches and half a third", 15, 2],
  ])("ends with what a budget of %s pays for", (_, rollouts, updates) => {
    const played = play({ ...SETTINGS, maxLag: 3, budget: { rollouts, perGroup: 2 } }, random(2));
    expect(ofKind(played, "update")).toHaveLength(updates);
    expect(ofKind(played, "start")).toHaveLength(updates * SETTINGS.batch);
    expect(played.decisions.at(-1)).toEqual({ kind: "end", reason: "budget" });
    expect(played.pace.state.committed).toBe(12);
  });

  it("says so when it is told of something that is not going on", () => {
    const pace = new Pace(SETTINGS);
    expect(() => pace.updated(true)).toThrow(/no update/);
    expect(() => pace.published()).toThrow(/nothing is being published/);
    drain(pace);
    pace.finished(0, 0, 2);
    expect(() => pace.finished(0, 0, 2)).toThrow(/twice/);
  });
});

function drain(pace: Pace): PaceDecision[] {
  const decisions: PaceDecision[] = [];
  for (let decision = pace.next(); decision !== null; decision = pace.next()) decisions.push(decision);
  return decisions;
}
