/** Any order of events and failures: what the engines of a publication serve, and which weights may go. */
import { deepEqual, ok } from "node:assert/strict";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Advanced,
  beginPublication,
  type EngineFacts,
  neededVersions,
  nextPublication,
  PUBLICATION_STEPS,
  type PublicationOrder,
  pausedAtOnce,
  publicationOutcome,
} from "../../core/publication.ts";
import { random } from "../../core/random.ts";

const url = (n: number) => `http://engine-${n}`;
const facts = (n: number, given: Partial<EngineFacts> = {}): EngineFacts => ({
  url: url(n),
  reports: "old",
  proven: "old",
  unreachable: null,
  ...given,
});
const engines = (count: number, given: Partial<EngineFacts> = {}) =>
  Array.from({ length: count }, (_, n) => facts(n, given));
const begin = (all: readonly EngineFacts[], pausedShare = 0.5, lastGood: string | null = "old") =>
  beginPublication({ target: "new", lastGood, pausedShare, engines: all });

/** Carries every order out; `fails` says which of them, and why. */
function play(start: Advanced, fails: (order: PublicationOrder) => string | null): Advanced {
  let at = start;
  const open = [...at.orders];
  for (let order = open.shift(); order !== undefined; order = open.shift()) {
    const why = order.step === "retire" ? null : fails(order);
    at = nextPublication(
      at.publication,
      why === null
        ? { kind: "done", url: order.url }
        : { kind: "failed", url: order.url, why, badWeights: why === "not finite" },
    );
    open.push(...at.orders);
  }
  return at;
}
const standings = ({ publication }: Advanced) =>
  publication.engines.map(({ status, version }) => `${status} ${version ?? "-"}`);

describe("publication", () => {
  it("takes each engine through every step, no more of them out of service at once than the share", () => {
    const start = begin(engines(4));
    expect(start.orders.map(({ url, step }) => [url, step])).toEqual([
      [url(0), "pause"],
      [url(1), "pause"],
    ]);
    const seen: string[] = [];
    const end = play(start, (order) => {
      seen.push(`${order.url} ${order.step}`);
      return null;
    });
    expect(publicationOutcome(end.publication)).toBe("served");
    for (let n = 0; n < 4; n++)
      expect(seen.filter((text) => text.startsWith(url(n)))).toEqual(
        PUBLICATION_STEPS.map((step) => `${url(n)} ${step}`),
      );
    expect(seen.indexOf(`${url(2)} pause`)).toBeGreaterThan(
      Math.min(seen.indexOf(`${url(0)} canary`), seen.indexOf(`${url(1)} canary`)),
    );
    expect([...neededVersions(end.publication)]).toEqual(["new"]);
  });

  it("gives no order for what is served already", () => {
    const start = begin(engines(3, { reports: "new", proven: "new" }));
    expect(start.orders).toEqual([]);
    expect(publicationOutcome(start.publication)).toBe("served");
  });

  it("does not believe an engine whose canary was never seen", () => {
    const start = begin([facts(0, { reports: "new", proven: null })]);
    expect(start.orders.map(({ step }) => step)).toEqual(["pause"]);
  });

  it.each(PUBLICATION_STEPS)("goes on without an engine that fails at %s", (step) => {
    const end = play(begin(engines(4)), (order) =>
      order.url === url(1) && order.step === step ? "it died" : null,
    );
    expect(publicationOutcome(end.publication)).toBe("served");
    expect(standings(end)).toEqual(["serving new", "out -", "serving new", "serving new"]);
    expect(end.publication.engines[1]!.why).toBe("it died");
  });

  it.each(PUBLICATION_STEPS)("goes back when all fail at %s", (step) => {
    const end = play(begin(engines(3)), (order) =>
      order.version === "new" && order.step === step ? "it died" : null,
    );
    expect(publicationOutcome(end.publication)).toBe("rolled-back");
    expect(standings(end)).toEqual(["serving old", "serving old", "serving old"]);
    expect([...neededVersions(end.publication)]).toEqual(["old"]);
  });

  it("gives weights that are not finite to nobody else", () => {
    const given = new Set<string>();
    const end = play(begin(engines(4), 0.25), (order) => {
      if (order.step === "load" && order.version === "new") given.add(order.url);
      return order.version === "new" && order.step === "canary" ? "not finite" : null;
    });
    expect([...given]).toEqual([url(0)]);
    expect(publicationOutcome(end.publication)).toBe("rolled-back");
    expect(standings(end)).toEqual(Array(4).fill("serving old"));
  });

  it("takes one engine for bad where another serves the same weights", () => {
    const end = play(begin(engines(2), 0.5), (order) =>
      order.url === url(1) && order.version === "new" && order.step === "canary" ? "not finite" : null,
    );
    expect(publicationOutcome(end.publication)).toBe("served");
    expect(standings(end)).toEqual(["serving new", "out -"]);
  });

  it("has nothing to go back to before the first publication", () => {
    const base = engines(2, { reports: null, proven: null });
    const end = play(begin(base, 0.5, null), (order) => (order.step === "load" ? "no such folder" : null));
    expect(publicationOutcome(end.publication)).toBe("lost");
    expect(standings(end)).toEqual(["out -", "out -"]);
    expect(end.publication.engines[0]!.why).toBe("no such folder");
  });

  it("brings engines that serve nothing in all at once", () => {
    expect(begin(engines(4, { reports: null }), 0.25).orders).toHaveLength(4);
  });

  it("never serves against the record, and never lets needed weights go, whatever fails and when", () => {
    const outcomes = new Set<string>();
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 6 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.boolean(),
        fc.constantFrom("old", null),
        fc.nat(),
        (count, pausedShare, finish, lastGood, seed) => {
          const draws = random(seed);
          const draw = (below: number): number => draws.integer(below);
          const world = new World(count, pausedShare, finish, lastGood, draw);
          for (let i = 0; i < 500 && !world.settled; i++) world.move();
          outcomes.add(world.finish());
        },
      ),
      { numRuns: 800, seed: 7 },
    );
    expect([...outcomes].sort()).toEqual(["lost", "rolled-back", "served"]);
  });
});

interface Turn {
  readonly engine: number;
  readonly versions: string[];
}

/** Engines that do what they are told, or die, or do it and do not say so; and turns that are sampled on those in service. */
class World {
  at: Advanced;
  readonly open: PublicationOrder[] = [];
  /** What each engine's memory holds: `base` after a restart, `torn` after a load that failed. */
  readonly weights: string[];
  readonly paused: boolean[];
  readonly stepsDone: string[][];
  readonly turns: Turn[] = [];
  /** Files that are there. */
  readonly files = new Set(["old", "new"]);
  restarts = 3;

  readonly onFinish: boolean;
  readonly draw: (below: number) => number;
  constructor(
    count: number,
    pausedShare: number,
    onFinish: boolean,
    lastGood: string | null,
    draw: (below: number) => number,
  ) {
    this.onFinish = onFinish;
    this.draw = draw;
    const all = Array.from({ length: count }, (_, n) => {
      const kind = draw(8);
      if (kind === 0) return facts(n, { unreachable: "refused" });
      if (kind === 1 || lastGood === null) return facts(n, { reports: null, proven: null });
      return facts(n);
    });
    this.weights = all.map(({ reports }) => reports ?? "base");
    this.paused = all.map(() => false);
    this.stepsDone = all.map(() => []);
    this.at = begin(all, pausedShare, lastGood);
    this.take();
  }

  get settled(): boolean {
    return this.open.length === 0;
  }

  take(): void {
    for (const order of this.at.orders) {
      ok(!this.open.some(({ url }) => url === order.url));
      if (order.step === "pause") this.stepsDone[this.number(order)] = [];
      if (order.step === "load") {
        deepEqual(this.stepsDone[this.number(order)], ["pause", "flush"]);
        ok(this.files.has(order.version));
        // Turns in progress must have ended.
        if (this.onFinish) ok(!this.turns.some(({ engine }) => engine === this.number(order)));
      }
      this.open.push(order);
    }
    this.check();
  }

  number(order: PublicationOrder): number {
    return Number(order.url.slice("http://engine-".length));
  }

  check(): void {
    const { publication } = this.at;
    for (const [n, { status, version, taken }] of publication.engines.entries()) {
      // Until a restart is found out, an engine says itself that it serves something else.
      if (status === "serving" && this.weights[n] !== "base") ok(this.weights[n] === version);
      if (taken) ok(status !== "serving");
    }
    ok(publication.engines.filter(({ taken }) => taken).length <= pausedAtOnce(publication));
    const needed = neededVersions(publication);
    for (const { status, version } of publication.engines)
      if (status !== "out" && version !== null) ok(needed.has(version));
    if (publicationOutcome(publication) !== "served" && publication.lastGood !== null)
      ok(needed.has(publication.lastGood));
    for (const file of this.files) if (!needed.has(file)) this.files.delete(file);
  }

  /** A turn is sampled only where the record says so and the engine itself agrees. */
  sample(): void {
    const n = this.draw(this.weights.length);
    const { status, version } = this.at.publication.engines[n]!;
    if (status === "serving" && this.weights[n] === version && !this.paused[n])
      this.turns.push({ engine: n, versions: [version!] });
  }

  endTurns(n: number): void {
    for (const turn of this.turns.filter(({ engine }) => engine === n)) {
      if (!turn.versions.includes(this.weights[n]!)) turn.versions.push(this.weights[n]!);
      if (this.onFinish) ok(turn.versions.length === 1);
      this.turns.splice(this.turns.indexOf(turn), 1);
    }
  }

  move(): void {
    const kind = this.draw(10);
    if (kind < 2) this.sample();
    else if (kind === 2) this.endTurns(this.draw(this.weights.length));
    else if (kind === 3 && this.restarts > 0) this.restart(this.draw(this.weights.length));
    else if (this.open.length > 0) this.end(this.open.splice(this.draw(this.open.length), 1)[0]!);
  }

  restart(n: number): void {
    this.restarts--;
    // Whoever waited for a turn of it gets an error, and samples it anew.
    for (let i = this.turns.length - 1; i >= 0; i--) if (this.turns[i]!.engine === n) this.turns.splice(i, 1);
    this.weights[n] = "base";
    this.paused[n] = false;
    if (this.draw(2) === 0) this.tell({ kind: "lost", url: url(n), why: "it was restarted" });
  }

  tell(event: Parameters<typeof nextPublication>[1]): void {
    this.at = nextPublication(this.at.publication, event);
    this.take();
  }

  end(order: PublicationOrder): void {
    const n = this.number(order);
    const fate = this.draw(8);
    const dies = fate === 0;
    const silent = fate === 1;
    if (order.step === "retire") {
      this.tell({ kind: "done", url: order.url });
      return;
    }
    const worked = !dies && this.carryOut(order, n);
    if (worked && !silent) this.stepsDone[n]!.push(order.step);
    this.tell(
      worked && !silent
        ? { kind: "done", url: order.url }
        : { kind: "failed", url: order.url, why: "it failed", badWeights: this.draw(4) === 0 },
    );
  }

  carryOut(order: PublicationOrder, n: number): boolean {
    switch (order.step) {
      case "pause":
        if (this.onFinish) this.endTurns(n);
        this.paused[n] = true;
        return true;
      case "load":
        this.weights[n] = this.draw(6) === 0 ? "torn" : order.version;
        return this.weights[n] === order.version;
      case "resume":
        this.paused[n] = false;
        return true;
      case "verify":
      case "canary":
        return this.weights[n] === order.version;
      default:
        return true;
    }
  }

  /** Nothing is left to do: what the publication says of itself is so. */
  finish(): string {
    while (this.open.length > 0) this.end(this.open.shift()!);
    const outcome = publicationOutcome(this.at.publication);
    expect(outcome).not.toBeNull();
    const serving = this.at.publication.engines.filter(({ status }) => status === "serving");
    if (outcome === "lost") expect(serving).toEqual([]);
    else {
      const version = outcome === "served" ? "new" : "old";
      expect(serving.length).toBeGreaterThan(0);
      for (const engine of serving) expect(engine.version).toBe(version);
      expect(this.files).toContain(version);
    }
    return outcome!;
  }
}
