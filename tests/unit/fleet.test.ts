/** The pure parts of a fleet: which engine a conversation goes to, and when an engine is left out. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PolicyError, type PolicyErrorKind } from "../../services/policy/client.ts";
import {
  afterFailedProbe,
  afterFailure,
  afterGoodProbe,
  afterSuccess,
  type Health,
  outFor,
  WELL,
} from "../../services/policy/fleet/health.ts";
import { createPlaces } from "../../services/policy/fleet/places.ts";
import { rank } from "../../services/policy/fleet/routing.ts";

const URLS = Array.from({ length: 6 }, (_, i) => `http://gpu-${i}:8000`);

describe("a conversation's engines", () => {
  const urls = fc.shuffledSubarray(URLS, { minLength: 2 });

  it("are ranked the same in whatever order they are listed", () => {
    fc.assert(
      fc.property(fc.string(), urls, (affinity, some) => {
        expect(rank(affinity, some)).toEqual(rank(affinity, [...some].reverse()));
      }),
    );
  });

  it("stay as they are ranked when one of them leaves: only its own conversations move", () => {
    fc.assert(
      fc.property(fc.string(), urls, fc.nat(), (affinity, some, pick) => {
        const gone = some[pick % some.length]!;
        const left = some.filter((url) => url !== gone);
        expect(rank(affinity, left)).toEqual(rank(affinity, some).filter((url) => url !== gone));
      }),
    );
  });

  it("share conversations about evenly", () => {
    const counts = new Map(URLS.map((url) => [url, 0]));
    for (let i = 0; i < 3000; i++) {
      const first = rank(`group/${i}`, URLS)[0]!;
      counts.set(first, counts.get(first)! + 1);
    }
    for (const count of counts.values()) expect(Math.abs(count - 500)).toBeLessThan(100);
  });
});

describe("an engine's health", () => {
  const error = (kind: PolicyErrorKind) => new PolicyError(kind, `${kind}!`);
  const fail = (health: Health, kinds: readonly PolicyErrorKind[], now = 0) =>
    kinds.reduce((before, kind) => afterFailure(before, error(kind), "p", now), health);

  it("is lost with the third failure in a row, not with failures between answers", () => {
    expect(outFor(fail(WELL, ["unreachable", "protocol"]), "p")).toBeNull();
    expect(outFor(fail(WELL, ["unreachable", "protocol", "unreachable"]), "p")).toEqual({
      policy: null,
      reason: "unreachable!",
      untilMs: 1000,
    });
    const between = afterSuccess(fail(WELL, ["unreachable", "unreachable"]), "p");
    expect(outFor(fail(between, ["unreachable", "unreachable"]), "p")).toBeNull();
  });

  it("is not touched by what is no fault of the engine", () => {
    expect(fail(WELL, ["aborted", "context", "capability", "aborted", "context"])).toEqual(WELL);
    expect(afterFailure(WELL, new Error("a bug"), "p", 0)).toEqual(WELL);
  });

  it("is lost at once for the policy that it does not serve, and for no other", () => {
    const out = fail(WELL, ["not-served"]);
    expect(outFor(out, "p")).toMatchObject({ policy: "p", untilMs: 1000 });
    expect(outFor(out, "q")).toBeNull();
    expect(outFor(afterSuccess(out, "q"), "p")).not.toBeNull();
  });

  it("is asked after ever longer waits, and counts as restored by an answered turn alone", () => {
    let health = fail(WELL, ["unreachable", "unreachable", "unreachable"]);
    const waits: number[] = [];
    for (let i = 0; i < 9; i++) {
      const now = health.out!.untilMs;
      health = afterFailedProbe(health, null, "away", now);
      waits.push(health.out!.untilMs - now);
    }
    expect(waits).toEqual([2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000, 60_000]);
    const said = afterGoodProbe(health);
    expect(outFor(said, "p")).toBeNull();
    expect(outFor(fail(said, ["unreachable"]), "p")).toMatchObject({ untilMs: 60_000 });
    expect(afterSuccess(said, "p")).toEqual(WELL);
  });

  it("is lost once by all the turns that were in progress", () => {
    const many = Array.from({ length: 64 }, (): PolicyErrorKind => "unreachable");
    expect(fail(WELL, many).out!.untilMs).toBe(1000);
  });
});

describe("an engine's places", () => {
  it("are given in the order they were asked for, and never more than there are", async () => {
    const places = createPlaces(2);
    const got: number[] = [];
    const asking = [0, 1, 2, 3].map((i) => places.take().then(() => got.push(i)));
    await Promise.all(asking.slice(0, 2));
    expect([got, places.taken, places.waiting]).toEqual([[0, 1], 2, 2]);
    places.giveBack();
    await asking[2];
    expect([got, places.taken, places.waiting]).toEqual([[0, 1, 2], 2, 1]);
    for (let i = 0; i < 3; i++) places.giveBack();
    await asking[3];
    expect([got, places.taken]).toEqual([[0, 1, 2, 3], 0]);
  });

  it("are not kept for who gives up, and whoever waits can be sent away", async () => {
    const places = createPlaces(1);
    await places.take();
    const abort = new AbortController();
    const impatient = places.take(abort.signal);
    const patient = places.take(new AbortController().signal);
    abort.abort();
    await expect(impatient).rejects.toMatchObject({ kind: "aborted" });
    places.sendAway();
    expect(await patient).toBe(false);
    expect([places.taken, places.waiting]).toEqual([1, 0]);
  });
});
