/** When a reap removes a sandbox, over all that can be on record of one. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { judge, LEASE_MS, type Life, stateOf } from "../../services/sandbox/life.ts";

const time = fc.integer({ min: 0, max: 4 * LEASE_MS });
const life: fc.Arbitrary<Life> = fc.record(
  {
    identity: fc.record({ deadline: time, adoptable: fc.boolean() }),
    ownerAlive: fc.constantFrom(true, false, null),
    lease: time,
    orphaned: time,
  },
  { requiredKeys: ["identity", "ownerAlive"] },
);
const grace = fc.integer({ min: 0, max: LEASE_MS });
const removes = (verdict: string) => verdict === "orphaned" || verdict === "expired";

describe("the life of a sandbox", () => {
  it("always ends at the deadline, and never sooner while its owner lives and renews", () => {
    fc.assert(
      fc.property(life, time, grace, (given, now, graceMs) => {
        if (now > given.identity.deadline) expect(judge(given, now, graceMs)).toBe("expired");
        else {
          const renewed = { ...given, ownerAlive: true, lease: now - (now % LEASE_MS) };
          expect(judge(renewed, now, graceMs)).toBe("keep");
        }
      }),
    );
  });

  it("stays over once it is over: time alone makes nothing removable stay", () => {
    fc.assert(
      fc.property(life, time, time, grace, (given, now, later, graceMs) => {
        if (removes(judge(given, now, graceMs)))
          expect(removes(judge(given, now + later, graceMs))).toBe(true);
      }),
    );
  });

  it("ends for all orphans and for no other without grace", () => {
    fc.assert(
      fc.property(life, time, (given, now) => {
        expect(removes(judge(given, now, 0))).toBe(stateOf(given, now) !== "live");
      }),
    );
  });

  it("lasts for the grace from the reap that first found it orphaned, where someone may go on in it", () => {
    const far = 100 * LEASE_MS;
    fc.assert(
      fc.property(time, fc.integer({ min: 1, max: LEASE_MS }), fc.boolean(), (now, graceMs, lives) => {
        const orphan = {
          identity: { deadline: far, adoptable: !lives },
          ownerAlive: lives,
          ...(lives && { lease: now - LEASE_MS - 1 }),
        };
        expect(judge(orphan, now, graceMs)).toBe("wait");
        expect(judge({ ...orphan, orphaned: now }, now + graceMs - 1, graceMs)).toBe("wait");
        expect(judge({ ...orphan, orphaned: now }, now + graceMs, graceMs)).toBe("orphaned");
      }),
    );
  });

  it("has no grace where the owner is dead and nobody takes it over", () => {
    const dead = { identity: { deadline: 10 }, ownerAlive: false };
    expect(judge(dead, 0, LEASE_MS)).toBe("orphaned");
  });

  it("runs to its deadline where another host's owner cannot be asked and nobody renewed", () => {
    fc.assert(
      fc.property(time, time, grace, (deadline, now, graceMs) => {
        const elsewhere = { identity: { deadline }, ownerAlive: null };
        expect(judge(elsewhere, now, graceMs)).toBe(now > deadline ? "expired" : "keep");
      }),
    );
  });
});
