/** Batch files: exact, deterministic, and refused where a rule is broken. */
import { createHash } from "node:crypto";
import { tableFromArrays, tableFromIPC, tableToIPC } from "apache-arrow";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BatchRow, decodeBatch, encodeBatch } from "../../services/trainers/batch.ts";

const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
const token = fc.record({
  id: fc.integer({ min: 0, max: 0x7fffffff }),
  trainable: fc.constantFrom<0 | 1>(0, 1),
  logProb: finite,
});
const batchRow: fc.Arbitrary<BatchRow> = fc
  .record({
    group: fc.string({ minLength: 1, unit: "grapheme" }),
    rollout: fc.string({ minLength: 1, unit: "grapheme" }),
    advantage: finite,
    reward: finite,
    raw: fc.constantFrom<0 | 1>(0, 1),
    sequence: fc.array(token, { minLength: 1, maxLength: 30 }),
  })
  .map(({ sequence, ...row }) => ({
    ...row,
    tokens: sequence.map((part) => part.id),
    trainable: sequence.map((part) => part.trainable),
    logProbs: sequence.map((part) => (part.trainable === 1 ? part.logProb : 0)),
  }));

const ROW: BatchRow = {
  group: "demo/it/1/try/1/climb/1/0",
  rollout: "demo/it/1/try/1/climb/1/0/3",
  advantage: 1.5,
  reward: 1,
  raw: 1,
  tokens: [104, 105, 300],
  trainable: [0, 0, 1],
  logProbs: [0, 0, -0.25],
};

describe("a batch file", () => {
  it("gives back every row exactly", () => {
    fc.assert(
      fc.property(fc.array(batchRow, { maxLength: 8 }), (rows) => {
        const decoded = decodeBatch(encodeBatch(rows)).map((row) => ({
          ...row,
          tokens: [...row.tokens],
          trainable: [...row.trainable],
          logProbs: [...row.logProbs],
        }));
        expect(decoded).toEqual(rows);
      }),
      { numRuns: 60 },
    );
  });

  it("has the same bytes for the same rows, whatever arrays hold them", () => {
    fc.assert(
      fc.property(fc.array(batchRow, { maxLength: 5 }), (rows) => {
        const bytes = encodeBatch(rows);
        expect(Buffer.compare(bytes, encodeBatch(decodeBatch(bytes)))).toBe(0);
      }),
      { numRuns: 30 },
    );
  });

  it("keeps its bytes from version to version", () => {
    const sha256 = createHash("sha256")
      .update(encodeBatch([ROW]))
      .digest("hex");
    expect(sha256).toBe("8cb2252235956fba5e29fa3ee6f041accedf6ff756cf0378557ae9f9943f280e");
  });

  it("is read from bytes that start anywhere in their buffer", () => {
    const bytes = encodeBatch([ROW]);
    for (const offset of [1, 4, 7]) {
      const moved = new Uint8Array(bytes.length + offset);
      moved.set(bytes, offset);
      const [row] = decodeBatch(moved.subarray(offset));
      expect([...row!.logProbs]).toEqual(ROW.logProbs);
      expect([...row!.tokens]).toEqual(ROW.tokens);
    }
  });

  it("is plain Arrow for any other reader", () => {
    const table = tableFromIPC(encodeBatch([ROW]));
    expect(table.schema.fields.map((field) => `${field.name}: ${field.type}`)).toEqual([
      "group: Utf8",
      "rollout: Utf8",
      "advantage: Float64",
      "reward: Float64",
      "raw: Uint8",
      "tokens: List<Int32>",
      "trainable: List<Uint8>",
      "logprobs: List<Float64>",
    ]);
    expect(Object.fromEntries(table.schema.metadata)).toEqual({ format: "tadpole-batch", version: "1" });
  });

  it.each<[string, Partial<BatchRow>]>([
    ["advantage is NaN", { advantage: Number.NaN }],
    ["reward is Infinity", { reward: Number.POSITIVE_INFINITY }],
    ["raw is 0.5", { raw: 0.5 as never }],
    ["tokens is empty", { tokens: [], trainable: [], logProbs: [] }],
    ["have 3, 2 and 3 elements", { trainable: [0, 1] }],
    ["have 3, 3 and 1 elements", { logProbs: [0] }],
    ["tokens[1] is -1", { tokens: [1, -1, 2] }],
    ["tokens[2] is 2147483648", { tokens: [1, 2, 2 ** 31] }],
    ["trainable[0] is 2", { trainable: [2 as never, 0, 1] }],
    ["logProbs[2] is -Infinity", { logProbs: [0, 0, Number.NEGATIVE_INFINITY] }],
    ["logProbs[0] is -1, expected 0 where trainable is 0", { logProbs: [-1, 0, -1] }],
    ["group and rollout must not be empty", { group: "" }],
  ])("refuses a row where %s", (message, change) => {
    const encode = () => encodeBatch([ROW, { ...ROW, ...change }]);
    expect(encode).toThrow(message);
    expect(encode).toThrow("batch row 1");
  });

  it("refuses files that are no batch", () => {
    const other = tableToIPC(tableFromArrays({ x: Int32Array.of(1) }), "file");
    for (const bytes of [new Uint8Array(0), Buffer.from("PAR1…"), encodeBatch([ROW]).slice(0, 400), other])
      expect(() => decodeBatch(bytes)).toThrow(expect.objectContaining({ kind: "format" }));
  });
});
