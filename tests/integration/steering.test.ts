/** Steering as every face does it: `apps/control`, a real Temporal server, a real record. Only the work itself is played. */
import { ApplicationFailure } from "@temporalio/common";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createRecordActivities, createWatchActivities } from "../../activities/index.ts";
import {
  amendExperiment,
  pauseExperiment,
  resumeExperiment,
  skipPhase,
  startExperiment,
  steeringState,
  stopExperiment,
} from "../../apps/control/index.ts";
import { experimentId } from "../../core/ids.ts";
import type { ExperimentSteering } from "../../core/steering.ts";
import {
  createExperiment,
  type Db,
  getExperiment,
  holdExperiment,
  readHold,
} from "../../services/store/index.ts";
import { startedActivities } from "../../workers/started-activities.ts";
import { openTestRecord, type TestRecord } from "../support/open-record.ts";
import {
  bundleWorkflows,
  changed,
  openWorkflowBench,
  policyOf,
  Recorder,
  type WorkflowBench,
} from "./workflows-recorder.ts";

let record: TestRecord;
let db: Db;
let bench: WorkflowBench;
const session = () => ({ db, client: bench.client, codeVersion: "test" });

beforeAll(async () => {
  record = await openTestRecord();
  ({ db } = record);
  bench = await openWorkflowBench(await bundleWorkflows());
}, 120_000);
afterAll(async () => {
  await bench?.close();
  await record?.close();
});

/** An experiment whose updates wait to be let through, on the real record; steering and watching are real too. */
class Played {
  readonly name: string;
  readonly #reached = new Map<string, PromiseWithResolvers<void>>();
  readonly #gates = new Map<string, PromiseWithResolvers<void>>();

  #open = false;

  constructor(name: string, update: () => void = () => {}) {
    this.name = name;
    const shared = { db, disk: null };
    // Of none of the other services do the activities used here know.
    const real = createRecordActivities({ ...shared, ...({} as { artifacts: never; policy: never }) });
    const { amend, findIteration, hold, noteRequest, recordExperiment, recordIteration, release } = real;
    const watching = createWatchActivities({
      ...shared,
      startedActivities: (experiment) => startedActivities(bench.client, experiment),
    });
    bench.use(
      new Recorder({
        ...{ amend, findIteration, hold, noteRequest, recordExperiment, recordIteration, release },
        ...watching,
        update: async ({ scope, parent, update: number }) => {
          const at = `${scope.iteration}.${number}`;
          this.#of(this.#reached, at).resolve();
          if (!this.#open) await this.#of(this.#gates, at).promise;
          update();
          return policyOf(`${parent.id}+${number}`, parent.id, parent.step + 1);
        },
      }),
    );
  }

  #of(map: Map<string, PromiseWithResolvers<void>>, at: string): PromiseWithResolvers<void> {
    const found = map.get(at) ?? Promise.withResolvers<void>();
    map.set(at, found);
    return found;
  }

  async start(...overrides: string[]): Promise<this> {
    running.push(this);
    await startExperiment(session(), this.name, changed(...overrides));
    return this;
  }

  reached(iteration: number, update: number): Promise<void> {
    return this.#of(this.#reached, `${iteration}.${update}`).promise;
  }

  let(iteration: number, ...updates: number[]): void {
    for (const update of updates) this.#of(this.#gates, `${iteration}.${update}`).resolve();
  }

  /** Workers end only when their activities do. */
  async close(): Promise<void> {
    await bench.client.workflow
      .getHandle(experimentId(this.name))
      .terminate()
      .catch(() => undefined);
    this.#open = true;
    for (const gate of this.#gates.values()) gate.resolve();
  }

  end(): Promise<unknown> {
    return bench.client.workflow.getHandle(experimentId(this.name)).result();
  }

  until(partial: object): Promise<void> {
    return expect
      .poll(() => steeringState(session(), this.name), { timeout: 30_000, interval: 200 })
      .toMatchObject(partial);
  }

  /** What was asked for and done, as `kind request`, in order. */
  async events(): Promise<string[]> {
    const rows = await db
      .selectFrom("events")
      .select(["kind", "detail"])
      .where("experiment", "=", this.name)
      .where("kind", "!=", "phase")
      .orderBy("created_at")
      .execute();
    return rows.map(({ kind, detail }) => `${kind} ${(detail as { request: string }).request}`);
  }
}

const running: Played[] = [];
afterEach(async () => {
  for (const played of running.splice(0)) await played.close();
});

const hold = { kind: "user", reason: "to look" };
const pause = (name: string, request: string, reason = "to look") =>
  pauseExperiment(session(), name, { request, reason });
const resume = (name: string, request: string) => resumeExperiment(session(), name, { request });
const amend = (name: string, request: string, path: string, value: number | boolean) =>
  amendExperiment(session(), name, { request, path, value });

const ASKED: readonly [verb: string, ask: (name: string) => Promise<ExperimentSteering>][] = [
  ["pause", (name) => pause(name, "p")],
  ["resume", (name) => resume(name, "r")],
  ["stop", (name) => stopExperiment(session(), name, { request: "s" })],
  ["skip", (name) => skipPhase(session(), name, { request: "k" })],
  ["amend", (name) => amend(name, "a", "climb.updates", 2)],
];

describe("what cannot be steered", () => {
  it.each(ASKED)("an unknown experiment: %s", async (_, ask) => {
    await expect(ask("nowhere")).rejects.toMatchObject({ name: "StoreError", kind: "missing" });
  });

  it.each(ASKED)("one that has ended: %s", async (_, ask) => {
    await createExperiment(db, { name: "over", settings: changed(), codeVersion: "test" });
    await expect(ask("over")).rejects.toMatchObject({ name: "SteeringError", kind: "ended" });
    expect(await steeringState(session(), "over")).toMatchObject({ status: "ended", hold: null });
  });

  it("lets an evaluation of one that has ended go on, where it is held", async () => {
    await createExperiment(db, { name: "measured", settings: changed(), codeVersion: "test" });
    await holdExperiment(db, "measured", hold);
    expect(await steeringState(session(), "measured")).toMatchObject({ status: "ended", hold });
    expect(await resume("measured", "r1")).toMatchObject({ status: "ended", hold: null });
    expect(await resume("measured", "r1")).toMatchObject({ status: "ended", hold: null });
    await expect(resume("measured", "r2")).rejects.toMatchObject({ kind: "ended" });
  });
});

describe("a running experiment", () => {
  it("refuses what cannot be, says why, and remembers nothing of it", async () => {
    const played = await new Played("refusing").start("iterations=2");
    const { name } = played;
    await expect(resume(name, "r1")).rejects.toMatchObject({
      kind: "refused",
      message: `experiment "${name}" is not held`,
    });
    await expect(pause(name, "p1", " ")).rejects.toMatchObject({
      kind: "refused",
      message: "reason: expected a text of at most 1000 characters",
    });
    await expect(amend(name, "a1", "seed", 3)).rejects.toMatchObject({
      kind: "refused",
      message: expect.stringMatching(/^seed is fixed while an experiment runs; amendable are iterations, /),
    });
    await expect(amend(name, "a1", "filter.band.low", 0.995)).rejects.toMatchObject({
      kind: "refused",
      message: expect.stringMatching(
        /^filter\.band\.low: expected at most filter\.band\.high \(0\.99\), found 0\.995 /,
      ),
    });
    await pause(name, "p1");
    expect(await resume(name, "r2")).toMatchObject({ hold: null });
    expect(await played.events()).toEqual(["pause p1", "resume r2"]);
  });

  it("does each request once, also across continue-as-new", async () => {
    const played = await new Played("once").start("iterations=2");
    const { name } = played;
    await played.reached(1, 1);
    expect(await pause(name, "p1")).toMatchObject({ status: "pausing", hold });
    expect(await pause(name, "p1", "another reason")).toMatchObject({ hold });
    expect(await resume(name, "r1")).toMatchObject({ status: "running", hold: null });
    expect((await amend(name, "a1", "climb.updates", 2)).amendments).toMatchObject([{ old: 3, value: 2 }]);
    await expect(skipPhase(session(), name, { request: "k1", phase: "pool" })).rejects.toMatchObject({
      kind: "refused",
      message: "phase: iteration 1 is in climb, not in pool; nothing was skipped",
    });
    played.let(1, 1, 2, 3);
    await played.reached(2, 1);
    expect(await pause(name, "p1")).toMatchObject({ status: "running", hold: null, iteration: 2 });
    expect((await amend(name, "a1", "climb.updates", 1)).amendments).toHaveLength(1);
    expect(await resume(name, "r1")).toMatchObject({ hold: null });
    played.let(2, 1, 2);
    await played.end();
    expect(await played.events()).toEqual(["pause p1", "resume r1", "amend a1"]);
    expect((await getExperiment(db, name)).status).toBe("done");
  });

  it("is held once by two who pause at the same moment", async () => {
    const played = await new Played("both").start();
    await played.reached(1, 1);
    const reasons = ["the first", "the second"];
    const both = await Promise.all(reasons.map((reason, index) => pause(played.name, `p${index}`, reason)));
    expect(reasons).toContain(both[0]!.hold?.reason);
    expect(both[1]!.hold).toEqual(both[0]!.hold);
    expect((await readHold(db, played.name))?.hold).toEqual(both[0]!.hold);
    // One resume is enough.
    expect(await resume(played.name, "r1")).toMatchObject({ status: "running", hold: null });
  });

  it("is paused once the work in hand has ended", async () => {
    const played = await new Played("at-rest").start();
    await played.reached(1, 1);
    expect(await pause(played.name, "p1")).toMatchObject({ status: "pausing" });
    played.let(1, 1);
    await played.reached(1, 2);
    played.let(1, 2, 3);
    await played.until({ status: "paused", hold });
  });

  it("knows, when it is run again, what was asked of the run that failed", async () => {
    const failing = await new Played("again", () => {
      throw ApplicationFailure.nonRetryable("no such file", "BadInput");
    }).start("iterations=2");
    const { name } = failing;
    await failing.reached(1, 1);
    await pause(name, "p1");
    await resume(name, "r1");
    await amend(name, "a1", "climb.updates", 1);
    failing.let(1, 1);
    await failing.end().catch(() => undefined);
    expect(await steeringState(session(), name)).toMatchObject({ status: "ended", phase: "failed" });

    const again = await new Played(name).start("iterations=2");
    await again.reached(1, 1);
    expect(await pause(name, "p1")).toMatchObject({ status: "running", hold: null });
    expect((await amend(name, "a1", "climb.updates", 3)).amendments).toMatchObject([{ old: 3, value: 1 }]);
    again.let(1, 1, 2, 3);
    again.let(2, 1);
    await again.end();
    expect(await again.events()).toEqual(["pause p1", "resume r1", "amend a1"]);
  });

  it("stops with its best checkpoint so far, and ends a hold to do so", async () => {
    const played = await new Played("stopped").start("iterations=2");
    const { name } = played;
    await played.reached(1, 1);
    await pause(name, "p1");
    const stop = () => stopExperiment(session(), name, { request: "s1" });
    expect(await stop()).toMatchObject({ status: "stopping", hold: null });
    expect(await stop()).toMatchObject({ status: "stopping" });
    played.let(1, 1);
    await played.end();
    const { status, result } = await getExperiment(db, name);
    expect({ status, result }).toMatchObject({ status: "stopped", result: { policy: { id: "start+1" } } });
    // The answer stays what it was; whoever asks anew is told that there is nothing to stop.
    expect(await stop()).toMatchObject({ status: "stopping" });
    await expect(stopExperiment(session(), name, { request: "s2" })).rejects.toMatchObject({ kind: "ended" });
    expect(await played.events()).toEqual(["pause p1", "resume s1", "stop s1"]);
  });
});
