/** Start weights of the embedded policy: the same from the same sources, and better than none. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { SLOTS } from "../../services/policy/nano/conversation.ts";
import { fit } from "../../services/policy/nano/fit.ts";
import { drawHabits } from "../../services/policy/nano/habits.ts";
import { pretrain } from "../../services/policy/nano/pretrain.ts";
import { drawRepairs } from "../../services/policy/nano/repairs.ts";
import { scoreCandidates } from "../../services/policy/nano/sampling.ts";
import { CHECK, candidates, EDIT, editToken, FINISH, GLOB, informed, started } from "./nano-helpers.ts";

const ROOT = new URL("../../node_modules/", import.meta.url);
const sources = ["picomatch/lib/scan.js", "picomatch/lib/utils.js", "split2/index.js"].map((path) => ({
  path,
  text: readFileSync(new URL(path, ROOT), "utf8"),
}));
const weights = pretrain({ sources, seed: 1 }, { repairs: 60 });

function probabilities(from: ReturnType<typeof informed>, ...tokens: number[]): Map<number, number> {
  const found = candidates(from, ...tokens)!;
  const scores = scoreCandidates(found, weights);
  const top = Math.max(...scores);
  const total = scores.reduce((sum, score) => sum + Math.exp(score - top), 0);
  return new Map([...found.tokens].map((token, i) => [token, Math.exp(scores[i]! - top) / total]));
}

describe("pretrain", () => {
  it("gives the same bits for the same sources and seed, others for another seed", () => {
    expect(weights).toHaveLength(SLOTS);
    const again = (seed: number) => pretrain({ sources, seed }, { repairs: 10 });
    expect(again(1)).toEqual(again(1));
    expect(again(2)).not.toEqual(again(1));
  });

  it("learns from sources that have nothing to edit, or none at all, the habits alone", () => {
    const habits = pretrain({ sources: [], seed: 1 });
    expect(pretrain({ sources: [{ path: "a.js", text: "" }], seed: 1 })).toEqual(habits);
    expect(habits.some((weight) => weight !== 0)).toBe(true);
  });

  it("knows the order of the tools and checks now and then, not always", () => {
    expect(probabilities(started()).get(GLOB)).toBeGreaterThan(0.8);
    expect(probabilities(informed()).get(EDIT)).toBeGreaterThan(0.7);
    const changed = informed();
    const token = editToken(changed, "index.js", "return value;\n}\nfunction", "return low;\n}\nfunction");
    const goesOn = probabilities(changed, EDIT, token).get(CHECK)!;
    expect(goesOn).toBeGreaterThan(0.1);
    expect(goesOn).toBeLessThan(0.6);
    expect(probabilities(informed()).get(FINISH)).toBeLessThan(0.1);
  });

  it("finds repairs it has not seen far more often than chance does", () => {
    const unseen = drawRepairs(sources, 40, 99);
    const loss = (of: Float64Array) =>
      unseen.reduce((sum, { candidates: rows, shifts }) => {
        const scores = scoreCandidates(rows, of).map((score, index) => score + shifts[index]!);
        const top = Math.max(...scores);
        const total = scores.reduce((each, score) => each + Math.exp(score - top), 0);
        return sum + top + Math.log(total) - scores[0]!;
      }, 0) / unseen.length;
    expect(loss(weights)).toBeLessThan(loss(new Float64Array(SLOTS)) - 0.5);
  });
});

describe("repairs", () => {
  it("put the right edit first, beside others of the same file", () => {
    const repairs = drawRepairs(sources, 20, 3);
    expect(repairs.length).toBeGreaterThan(10);
    for (const { candidates: rows, shifts, targets } of repairs) {
      expect(targets).toEqual([[0, 1]]);
      expect(shifts).toHaveLength(rows.tokens.length);
      expect(shifts[0]).toBe(0);
    }
  });
});

describe("fit", () => {
  it("reaches the distributions it is given", () => {
    const habits = drawHabits();
    const fitted = fit(habits, { epochs: 400, learningRate: 0.05, decay: 1e-4 }, 1);
    const misfit = habits.map(({ candidates: rows, targets }) => {
      const scores = scoreCandidates(rows, fitted);
      const total = scores.reduce((sum, score) => sum + Math.exp(score), 0);
      return Math.max(...targets.map(([index, p]) => Math.abs(Math.exp(scores[index]!) / total - p)));
    });
    expect(misfit.reduce((a, b) => a + b, 0) / misfit.length).toBeLessThan(0.05);
  });

  it("has the loss of a uniform choice where weights are zero", () => {
    const losses: string[] = [];
    const [habit] = drawHabits();
    fit([habit!], { epochs: 1, learningRate: 0, decay: 0 }, 1, (line) => losses.push(line));
    expect(losses[0]).toContain(`${Math.log(habit!.candidates.tokens.length).toFixed(3)} nats`);
  });
});
