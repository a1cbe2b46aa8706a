/** The simulated node: the same bytes each time, by no clock; and that a wider bound on age leaves the trainer less idle. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Agenda } from "../../bench/simulate/agenda.ts";
import { Engine } from "../../bench/simulate/engine.ts";
import { picture, renderJson, renderText } from "../../bench/simulate/render.ts";
import { runOneStep, runPaced } from "../../bench/simulate/schedulers.ts";
import { type NodeSettings, parseNode } from "../../bench/simulate/settings.ts";
import { study } from "../../bench/simulate/study.ts";
import { groupTrace } from "../../bench/simulate/trace.ts";
import { packageRoot } from "../../infra/stack/index.ts";

const file = `${packageRoot}/bench/simulate/node.yaml`;
const text = readFileSync(file, "utf8");
/** An eighth of the node. */
const SMALL = [
  ...["updates=8", "batch=4", "trajectories=32", "engines.count=1"],
  ...["trainer.tokensPerSecond=3200", "trainer.fixedSeconds=5"],
];
const small = (...changes: string[]): NodeSettings => parseNode(text, file, [...SMALL, ...changes]);
const paced = (settings: NodeSettings, maxLag: number, onPublish: "finish" | "continue" = "finish") =>
  runPaced(settings, { maxLag, onPublish, stale: "refresh" });

describe("simulate", () => {
  it("leaves the trainer idle less with each wider bound, and less than one step ahead", () => {
    const settings = small();
    const idle = [0, 1, 3].map((lag) => paced(settings, lag).idle);
    expect(idle[2]).toBeLessThan(idle[1]!);
    expect(idle[1]).toBeLessThan(idle[0]!);
    expect(runOneStep(settings).idle).toBeGreaterThan(idle[2]!);
  });

  it.each([
    [0, "finish"],
    [1, "finish"],
    [3, "finish"],
    [1, "continue"],
    [3, "continue"],
  ] as const)("keeps to the bound at lag %i (%s), and to the trajectories in progress", (lag, onPublish) => {
    const { greatestLag, inProgress, updates } = paced(small(), lag, onPublish);
    expect(greatestLag).toBeLessThanOrEqual(lag);
    expect(inProgress).toBeLessThanOrEqual(32);
    expect(updates).toHaveLength(8);
  });

  it("gives the same bytes for the same seed, and others for another", () => {
    const made = (seed: number) => {
      const whole = study(small("updates=3", `seed=${seed}`), [1, 2]);
      return renderJson(whole) + renderText(whole) + picture(whole.schedulers);
    };
    expect(made(0)).toBe(made(0));
    expect(made(1)).not.toBe(made(0));
  });

  it("asks every scheduler for the same trajectories", () => {
    const place = { deal: 3, position: 1, again: 0 };
    expect(groupTrace(small(), place)).toEqual(groupTrace(small("trajectories=64"), place));
    expect(groupTrace(small(), { ...place, again: 1 })).not.toEqual(groupTrace(small(), place));
    for (const { turns, context } of groupTrace(small(), place)) {
      expect(turns.length).toBeGreaterThan(0);
      expect(turns.length).toBeLessThanOrEqual(75);
      expect(context).toBeLessThanOrEqual(65_536);
    }
  });

  it("refuses settings by name", () => {
    expect(() => parseNode("batch: [", "f.yaml")).toThrow(/^f\.yaml: /);
    expect(() => small("batch=0")).toThrow(/batch: /);
    expect(() => small("engines.cuont=3")).toThrow(/engines\.cuont=3: expected PATH=NUMBER/);
    expect(() => small("trajectories=4")).toThrow(/trajectories: expected at least groupSize \(8\)/);
  });
});

describe("an engine", () => {
  const SPEED = { count: 1, baseSeconds: 1, perSequenceSeconds: 1, prefillWeight: 0 };

  it("slows down with each turn in progress, and stands still while it is paused", () => {
    const agenda = new Agenda();
    const engine = new Engine(agenda, SPEED);
    const ended: Record<string, number> = {};
    const note = (name: string) => () => {
      ended[name] = agenda.now;
    };
    // Alone a step takes 2 s, beside another one 3 s.
    engine.ask(0, 10, 0, note("long"));
    agenda.after(4, () => engine.ask(0, 2, 0, note("short")));
    agenda.after(13, () => engine.pause());
    agenda.after(20, () => engine.resume());
    agenda.run(() => false);
    // 2 steps until 4 s, 2 together until 10 s; 6 are left, 1.5 of them before the pause.
    expect(ended.short).toBeCloseTo(10);
    expect(ended.long).toBeCloseTo(20 + 4.5 * 2);
    expect(engine.busySeconds).toBeCloseTo(29);
  });
});
