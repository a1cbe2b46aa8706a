/** Parts of the nano trainer: scores of tokens, replay of rows, Adam, the checkpoint file. */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Candidates,
  CheckpointError,
  decodeCheckpoint,
  encodeCheckpoint,
  freshCheckpoint,
  openConversation,
  SLOTS,
} from "../../services/policy/index.ts";
import {
  createNanoTrainer,
  type DecodedRow,
  decodeBatch,
  encodeBatch,
  type NanoTrainerServices,
  TrainerError,
} from "../../services/trainers/index.ts";
import { adamStep } from "../../services/trainers/nano/adam.ts";
import { createReplay } from "../../services/trainers/nano/replay.ts";
import { scoreToken } from "../../services/trainers/nano/softmax.ts";
import { rolloutBatch, someWeights } from "./trainer-rollouts.ts";

const weights = someWeights(7);
const rows = decodeBatch(encodeBatch(rolloutBatch(weights, 7, 2, 8)));

function memoryArtifacts(): NanoTrainerServices["artifacts"] {
  const contents = new Map<string, Uint8Array>();
  return {
    get: async ({ sha256 }) => contents.get(sha256)!,
    put: async (bytes, kind) => {
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      contents.set(sha256, bytes);
      return { uri: `memory:${sha256}`, sha256, bytes: bytes.length, kind };
    },
  };
}

/** [candidate][(slot, value)] */
function packed(candidates: readonly (readonly (readonly [number, number])[])[]): Candidates {
  const flat = candidates.flat();
  let end = 0;
  return {
    tokens: Int32Array.from(candidates.keys(), (index) => index + 600),
    offsets: Int32Array.from([0, ...candidates.map((features) => (end += features.length))]),
    features: Int32Array.from(flat, ([slot]) => slot),
    values: Float64Array.from(flat, ([, value]) => value),
  };
}

describe("score of a token", () => {
  it("of two candidates is the logistic function of their difference", () => {
    const w = new Float64Array(4);
    w[1] = 2;
    w[3] = -1;
    const scratch = new Float64Array(4);
    const score = scoreToken(packed([[[1, 1.5]], [[3, 1]]]), 0, w, scratch);
    // Logits 3 and −1.
    const p = 1 / (1 + Math.exp(-4));
    expect(score.logProb).toBeCloseTo(Math.log(p), 12);
    expect(score.entropy).toBeCloseTo(-p * Math.log(p) - (1 - p) * Math.log(1 - p), 12);
    expect([...score.gradient.slots]).toEqual([1, 3]);
    expect(score.gradient.values[0]).toBeCloseTo((1 - p) * 1.5, 12);
    expect(score.gradient.values[1]).toBeCloseTo(-(1 - p), 12);
    expect(scratch.every((value) => value === 0)).toBe(true);
  });

  it("of the only candidate is certain and has no gradient", () => {
    const score = scoreToken(packed([[[0, 1]]]), 0, new Float64Array(1), new Float64Array(1));
    expect(score.logProb).toBeCloseTo(0, 12);
    expect(score.entropy).toBeCloseTo(0, 12);
    expect([...score.gradient.values].every((value) => Math.abs(value) < 1e-12)).toBe(true);
  });

  it("has the gradient that finite differences give, also where candidates share slots or repeat one", () => {
    const feature = fc.tuple(fc.integer({ min: 0, max: 5 }), fc.double({ min: -2, max: 2, noNaN: true }));
    fc.assert(
      fc.property(
        fc.array(fc.array(feature, { maxLength: 6 }), { minLength: 1, maxLength: 6 }),
        fc.array(fc.double({ min: -2, max: 2, noNaN: true }), { minLength: 6, maxLength: 6 }),
        fc.nat(),
        fc.integer({ min: 0, max: 5 }),
        (features, values, pick, slot) => {
          const candidates = packed(features);
          const chosen = pick % features.length;
          const scratch = new Float64Array(6);
          const at = (shift: number) =>
            scoreToken(
              candidates,
              chosen,
              Float64Array.from(values, (w, i) => (i === slot ? w + shift : w)),
              scratch,
            );
          const { gradient } = at(0);
          const where = gradient.slots.indexOf(slot);
          const expected = (at(1e-5).logProb - at(-1e-5).logProb) / 2e-5;
          expect(Math.abs((where < 0 ? 0 : gradient.values[where]!) - expected)).toBeLessThan(1e-6);
          expect(new Set(gradient.slots).size).toBe(gradient.slots.length);
        },
      ),
    );
  });
});

describe("replay of rows", () => {
  const logProbsOf = (row: DecodedRow) => Array.from(row.logProbs).filter((_, i) => row.trainable[i] === 1);

  it("finds the very log-probabilities that the policy sampled with, from the token ids alone", () => {
    const replay = createReplay(openConversation, weights);
    for (const row of rows) {
      const scored = replay(row);
      expect(scored.map((token) => token.logProb)).toEqual(logProbsOf(row));
      expect(scored.map((token) => token.rolloutLogProb)).toEqual(logProbsOf(row));
    }
  });

  it("gives the same scores whatever row came before", () => {
    const alone = rows.map((row) => createReplay(openConversation, weights)(row));
    const replay = createReplay(openConversation, weights);
    const backwards = rows.toReversed().map((row) => replay(row));
    expect(backwards.toReversed()).toEqual(alone);
  });

  it("does again only what the row before did not do", () => {
    let appended = 0;
    const counting = () => {
      const count = (inner: ReturnType<typeof openConversation>): typeof inner => ({
        append: (token) => {
          appended++;
          inner.append(token);
        },
        next: () => inner.next(),
        clone: () => count(inner.clone()),
        render: () => inner.render(),
        match: (call) => inner.match(call),
      });
      return count(openConversation());
    };
    const replay = createReplay(counting, weights);
    replay(rows[0]!);
    appended = 0;
    replay(rows[0]!);
    expect(appended).toBeLessThan(rows[0]!.tokens.length / 2);
  });

  it("refuses a token that the policy could not have sampled there, naming row and place", () => {
    const row = rows[0]!;
    const place = row.trainable.indexOf(1);
    const tokens = row.tokens.slice();
    tokens[place] = 700;
    const replay = createReplay(openConversation, weights);
    const message = `${row.rollout}: token ${place} (id 700) is marked trainable`;
    expect(() => replay({ ...row, tokens })).toThrow(message);
    const trainable = row.trainable.slice();
    trainable[0] = 1;
    expect(() => replay({ ...row, trainable })).toThrow(TrainerError);
  });
});

describe("gradient of an update", () => {
  it("is the derivative of its loss by each weight, from finite differences", async () => {
    const artifacts = memoryArtifacts();
    const batch = await artifacts.put(encodeBatch(rolloutBatch(weights, 7, 2, 8)), "batch");
    const trainer = createNanoTrainer({ artifacts, openConversation });
    const updateFrom = async (start: Float64Array) => {
      const checkpoint = await artifacts.put(encodeCheckpoint(freshCheckpoint(start)), "policy");
      return trainer.update(
        batch,
        { id: "nano-parent", checkpoint, parent: null, step: 0 },
        {
          loss: { kind: "dppo-tv", threshold: 1, clipLow: 0.2, clipHigh: 0.28, ratioLow: 0.5, ratioHigh: 2 },
          optimizer: {
            learningRate: 0.1,
            beta1: 0.5,
            beta2: 0.98,
            epsilon: 1e-8,
            weightDecay: 0,
            clipNorm: 1e9,
          },
          freshOptimizer: true,
        },
        () => {},
      );
    };
    const { policy } = await updateFrom(weights);
    // After one step from zero the first moment is (1 − beta1) times the gradient.
    const gradient = decodeCheckpoint(await artifacts.get(policy.checkpoint)).moment1.map((m) => m / 0.5);
    const used = [...gradient.keys()].filter((slot) => gradient[slot] !== 0);
    const largest = used.toSorted((a, b) => Math.abs(gradient[b]!) - Math.abs(gradient[a]!));
    for (const slot of [...largest.slice(0, 2), largest[largest.length >> 1]!]) {
      const lossAt = async (shift: number) =>
        (await updateFrom(weights.map((w, i) => (i === slot ? w + shift : w)))).metrics.loss;
      const expected = ((await lossAt(1e-5)) - (await lossAt(-1e-5))) / 2e-5;
      expect(Math.abs(gradient[slot]! - expected)).toBeLessThan(1e-7);
    }
  });
});

describe("Adam", () => {
  const settings = {
    learningRate: 0.1,
    beta1: 0.9,
    beta2: 0.98,
    epsilon: 1e-8,
    weightDecay: 0,
    clipNorm: 1e9,
  };
  const start = (...values: number[]) => ({
    weights: Float64Array.from(values),
    moment1: new Float64Array(values.length),
    moment2: new Float64Array(values.length),
    step: 0,
  });

  it("moves by the learning rate against the gradient's sign at first, whatever its size", () => {
    const { state } = adamStep(start(1, 1, 1), Float64Array.of(1e-3, -50, 0), settings);
    expect(state.weights[0]).toBeCloseTo(0.9, 5);
    expect(state.weights[1]).toBeCloseTo(1.1, 5);
    expect(state.weights[2]).toBe(1);
    expect(state.step).toBe(1);
  });

  it("follows its definition over steps", () => {
    let state = start(0.5);
    let [w, m, v] = [0.5, 0, 0];
    for (const [index, g] of [0.3, -0.2, 0.7, 0.1].entries()) {
      state = adamStep(state, Float64Array.of(g), { ...settings, weightDecay: 0.1 }).state as typeof state;
      m = 0.9 * m + 0.1 * g;
      v = 0.98 * v + 0.02 * g * g;
      w =
        w -
        0.1 * 0.1 * w -
        (0.1 * (m / (1 - 0.9 ** (index + 1)))) / (Math.sqrt(v / (1 - 0.98 ** (index + 1))) + 1e-8);
      expect(state.weights[0]).toBeCloseTo(w, 12);
    }
  });

  it("clips by the norm of the whole gradient and reports it unclipped", () => {
    const clipped = adamStep(start(0, 0), Float64Array.of(3, 4), { ...settings, clipNorm: 1 });
    expect(clipped.gradientNorm).toBe(5);
    expect(clipped.state.moment1[0]).toBeCloseTo(0.1 * 0.6, 12);
    expect(clipped.state.moment1[1]).toBeCloseTo(0.1 * 0.8, 12);
  });

  it("leaves the given state alone", () => {
    const state = start(1);
    adamStep(state, Float64Array.of(1), settings);
    expect(state).toEqual(start(1));
  });
});

describe("checkpoint file", () => {
  const checkpoint = {
    ...freshCheckpoint(weights),
    moment1: someWeights(2),
    moment2: someWeights(3),
    step: 12,
  };
  const bytes = encodeCheckpoint(checkpoint);
  const refusal = (content: Uint8Array) => {
    try {
      decodeCheckpoint(content);
    } catch (error) {
      if (error instanceof CheckpointError) return error.kind;
      throw error;
    }
    return "none";
  };

  it("reads back as it was written, and the same checkpoint gives the same bytes", () => {
    const read = decodeCheckpoint(bytes);
    expect(read.step).toBe(12);
    for (const name of ["weights", "moment1", "moment2"] as const)
      expect(Buffer.compare(Buffer.from(read[name].buffer), Buffer.from(checkpoint[name].buffer))).toBe(0);
    expect(Buffer.compare(encodeCheckpoint(read), bytes)).toBe(0);
  });

  it("is read from the middle of a buffer too", () => {
    const shifted = new Uint8Array(bytes.length + 3);
    shifted.set(bytes, 3);
    expect(Buffer.compare(encodeCheckpoint(decodeCheckpoint(shifted.subarray(3))), bytes)).toBe(0);
  });

  it("is a safetensors file: aligned header, sorted keys, float64 tensors back to back", () => {
    const length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
    expect(length % 8).toBe(0);
    const header = JSON.parse(Buffer.from(bytes.subarray(8, 8 + length)).toString()) as Record<
      string,
      unknown
    >;
    expect(Object.keys(header)).toEqual(Object.keys(header).toSorted());
    expect(header.__metadata__).toMatchObject({ format: "tadpole-nano", version: "1", step: "12" });
    expect(header.weights).toEqual({ dtype: "F64", shape: [SLOTS], data_offsets: [SLOTS * 16, SLOTS * 24] });
    const at = 8 + length + SLOTS * 16;
    expect(new DataView(bytes.buffer).getFloat64(at + 80, true)).toBe(weights[10]);
  });

  it("is refused when cut anywhere, when longer, and when it is something else", () => {
    for (const end of [0, 7, 8, 100, 4000, bytes.length - 1])
      expect(refusal(bytes.subarray(0, end))).toBe("truncated");
    expect(refusal(Buffer.concat([bytes, new Uint8Array(1)]))).toBe("format");
    expect(refusal(Buffer.from("PK\x03\x04 this is another file"))).toBe("format");
    const header = (text: string) =>
      Buffer.concat([Buffer.from([text.length, 0, 0, 0, 0, 0, 0, 0]), Buffer.from(text)]);
    for (const text of ["{", "null", "[]", "{}", '{"__metadata__":{"format":"pt"}}'])
      expect(refusal(header(text))).toBe("format");
  });

  it("is refused under another version, and when it holds what is not a number", () => {
    const text = Buffer.from(bytes).toString("latin1");
    expect(refusal(Buffer.from(text.replace('"version":"1"', '"version":"2"'), "latin1"))).toBe("version");
    const features = Buffer.from(text.replace(/"featureVersion":"\d/, '"featureVersion":"9'), "latin1");
    expect(refusal(features)).toBe("version");
    const bad = bytes.slice();
    new DataView(bad.buffer).setFloat64(bad.length - 8, Number.NaN, true);
    expect(refusal(bad)).toBe("not-finite");
    const infinite = { ...checkpoint, moment1: new Float64Array(SLOTS).fill(Number.POSITIVE_INFINITY) };
    expect(() => encodeCheckpoint(infinite)).toThrow("moment1[0] is Infinity");
    expect(() => encodeCheckpoint(freshCheckpoint(new Float64Array(3)))).toThrow(CheckpointError);
  });
});
