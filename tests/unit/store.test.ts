/** The store's pure parts: bytes of tokens, differences of settings, errors, histograms. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { storeErrorFrom } from "../../services/store/errors.ts";
import { describeUrl, differingPaths, hashJson, StoreError } from "../../services/store/index.ts";
import { passCounts } from "../../services/store/series.ts";
import { decodeFloats, decodeTokens, encodeFloats, encodeTokens } from "../../services/store/tokens.ts";

describe("tokens and log-probabilities as bytes", () => {
  it("come back exactly", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })),
        fc.array(fc.double()),
        (tokens, floats) => {
          expect(decodeTokens(encodeTokens(tokens))).toEqual(tokens);
          expect(decodeFloats(encodeFloats(floats))).toEqual(floats);
        },
      ),
    );
  });

  it("are little-endian", () => {
    expect(encodeTokens([258]).toString("hex")).toBe("02010000");
    expect(encodeFloats([-2]).toString("hex")).toBe("00000000000000c0");
  });

  it.each([0.5, 2 ** 31, Number.NaN])("refuse %s as a token", (token) => {
    expect(() => encodeTokens([token])).toThrow(RangeError);
  });
});

describe("differing paths", () => {
  it("name the smallest parts that differ", () => {
    const left = { climb: { updates: 3, lag: 0 }, mix: [1, 2], seed: 1 };
    const right = { climb: { updates: 4, lag: 0 }, mix: [2, 1], name: "x", seed: 1 };
    expect(differingPaths(left, right)).toEqual([["climb", "updates"], ["mix"], ["name"]]);
  });

  it("are not hidden by names that every object inherits", () => {
    expect(differingPaths({ valueOf: "" }, {})).toEqual([["valueOf"]]);
  });

  it("are none exactly when the hashes are equal", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (left, right) => {
        expect(differingPaths(left, right).length === 0).toBe(hashJson(left) === hashJson(right));
        expect(differingPaths(left, JSON.parse(JSON.stringify(left)))).toEqual([]);
      }),
    );
  });
});

describe("errors of the database", () => {
  const coded = (code: string, message = "text") => Object.assign(new Error(message), { code });
  it.each([
    ["ECONNREFUSED", "unreachable"],
    ["57P01", "unreachable"],
    ["08006", "unreachable"],
    ["28P01", "unreachable"],
    ["53100", "disk-full"],
    ["57014", "timeout"],
    ["40P01", "busy"],
    ["23505", "conflict"],
    ["22021", "invalid"],
  ])("%s is of kind %s", (code, kind) => {
    expect(storeErrorFrom(coded(code), "here:1/x")).toMatchObject({ name: "StoreError", kind });
  });

  it("are told from the text where there is no code", () => {
    const lost = new Error("Connection terminated unexpectedly");
    expect(storeErrorFrom(lost, "here:1/x")).toMatchObject({ kind: "unreachable" });
    const full = coded("58030", 'could not extend file "base/1": No space left on device');
    expect(storeErrorFrom(full, "here:1/x")).toMatchObject({ kind: "disk-full" });
    const both = new AggregateError([coded("ECONNREFUSED", "connect ECONNREFUSED ::1:5")], "");
    expect(storeErrorFrom(both, "here:1/x")).toMatchObject({
      kind: "unreachable",
      message: expect.stringContaining("database here:1/x: connect ECONNREFUSED"),
    });
  });

  it("stay what they are when they are ours or unknown", () => {
    const ours = new StoreError("fenced", "x");
    const unknown = coded("42601");
    expect(storeErrorFrom(ours, "w")).toBe(ours);
    expect(storeErrorFrom(unknown, "w")).toBe(unknown);
  });

  it("never show the password", () => {
    expect(describeUrl("postgres://me:secret@db.example:6543/tadpole")).toBe("db.example:6543/tadpole");
    expect(() => describeUrl("secret")).toThrow("expected postgres://");
  });
});

describe("pass counts", () => {
  it("count probes by their passes and leave out probes of other sizes", () => {
    const old = { planned: null, rate: null };
    const probes = [
      { passes: 0, runs: 4, ...old },
      { passes: 2, runs: 4, planned: 4, rate: 0.5 },
      { passes: 2, runs: 4, ...old },
      { passes: 2, runs: 2, ...old },
    ];
    expect(passCounts(probes)).toEqual({ runs: 4, counts: [1, 0, 2, 0, 0] });
    const stopped = [
      { passes: 1, runs: 6, planned: 8, rate: 1 / 5 },
      { passes: 5, runs: 5, planned: 8, rate: 1 },
    ];
    expect(passCounts(stopped)).toEqual({ runs: 8, counts: [0, 0, 1, 0, 0, 0, 0, 0, 1] });
    expect(passCounts([])).toEqual({ runs: 0, counts: [0] });
  });
});
