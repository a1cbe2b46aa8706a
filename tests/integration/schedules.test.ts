/** Schedules on a real Temporal server and a real record: what fires, what is skipped, what ends them, what is refused. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createScheduleActivities } from "../../activities/index.ts";
import {
  createSchedule,
  deleteSchedule,
  type NewSchedule,
  pauseSchedule,
  resumeSchedule,
  type ScheduleView,
  schedulesPage,
  showSchedule,
  triggerSchedule,
} from "../../apps/control/index.ts";
import { type Db, listExperiments, openDatabase, recordEvaluation } from "../../services/store/index.ts";
import { startTestPostgres, type TestPostgres } from "../support/postgres.ts";
import {
  bundleWorkflows,
  openWorkflowBench,
  Recorder,
  smallest,
  type WorkflowBench,
} from "./workflows-recorder.ts";

let postgres: TestPostgres;
let db: Db;
let bench: WorkflowBench;
const session = () => ({ db, client: bench.client });

beforeAll(async () => {
  postgres = await startTestPostgres();
  db = await openDatabase(postgres.url);
  const activities = createScheduleActivities({
    db,
    codeVersion: "test",
    pauseSchedule: (schedule, note) => bench.client.schedule.getHandle(schedule).pause(note),
  });
  bench = await openWorkflowBench(await bundleWorkflows(), [], activities);
});
afterAll(async () => {
  await bench?.close();
  await db?.destroy();
  await postgres?.stop();
});

const work = { kind: "run", source: "smallest.yaml", settings: smallest } as const;
const yearly: NewSchedule = { name: "yearly", cron: "0 3 1 1 *", work };

async function until(name: string, reached: (view: ScheduleView) => boolean): Promise<ScheduleView> {
  for (let ask = 0; ask < 600; ask++) {
    const view = await showSchedule(session(), name);
    if (reached(view)) return view;
    await sleep(100);
  }
  throw new Error(`schedule ${name} stays ${JSON.stringify(await showSchedule(session(), name))}`);
}

/** pass@1 of the n-th experiment is 0.25, 0.5, 0.75, … on record; the first waits for `open` before it is measured. */
function measuring(open: Promise<void>): Recorder {
  const experiments: string[] = [];
  return new Recorder({
    startPolicy: async () => {
      if (experiments.length === 0) await open;
      return {
        id: "start",
        checkpoint: { uri: "artifact:0", sha256: "0", bytes: 1, kind: "policy" },
        parent: null,
        step: 0,
      };
    },
    evaluate: async ({ scope, set, setHash, mode, policy, groups }) => {
      const { experiment, iteration } = scope;
      if (!experiments.includes(experiment)) experiments.push(experiment);
      const passAt1 = (experiments.indexOf(experiment) + 1) / 4;
      const key = `${experiment}/${iteration}/${set}/${mode}/${policy}`;
      const row = { experiment, iteration, policy, set_name: set, set_hash: setHash, mode, low: 0, high: 1 };
      const measured = { tasks: groups.length, samples: 1, pass_at_1: passAt1, results: [] };
      await recordEvaluation(db, { key, ...row, ...measured });
      return { tasks: groups.length, samples: 1, passAt1, low: 0, high: 1 };
    },
  });
}

describe("a schedule", () => {
  it("fires, skips a time while a run goes on, fires again, and ends once its condition holds", async () => {
    let open = () => {};
    bench.use(
      measuring(
        new Promise((resolve) => {
          open = resolve;
        }),
      ),
    );
    const made = await createSchedule(session(), {
      name: "often",
      every: "2s",
      until: "pass@1(heldout) >= 0.75",
      work,
    });
    expect(made).toMatchObject({ paused: true, runs: 0, overlap: "skip", when: "every 2s" });
    expect(made.next).toHaveLength(5);
    expect(await listExperiments(db)).toEqual([]);

    await resumeSchedule(session(), "often");
    const held = await until("often", ({ skipped }) => skipped > 0);
    expect(held.runs).toBe(1);
    expect(await listExperiments(db)).toHaveLength(1);
    open();

    const ended = await until("often", ({ paused }) => paused);
    expect(ended.runs).toBe(3);
    const names = (await listExperiments(db)).map(({ name }) => name).sort();
    expect(names).toHaveLength(3);
    for (const [index, { workflow, at }] of ended.recent.entries()) {
      const time = at.replace(/[-:]|\.\d+/g, "");
      expect(names[index]).toBe(`often-${time}`);
      expect(workflow).toBe(`schedule/often-${at.replace(/\.\d+/, "")}`);
      const result = await bench.client.workflow.getHandle(workflow).result();
      expect(result).toEqual({ experiment: names[index], ended: index === 2 });
    }
    expect(ended.note).toBe(`ended: pass@1(heldout) >= 0.75 holds, 0.750 in ${names[2]}`);
    await deleteSchedule(session(), "often");
  });

  it("is listed, paused with a note, resumed, triggered while paused, and gone when deleted", async () => {
    bench.use(measuring(Promise.resolve()));
    await createSchedule(session(), { ...yearly, timeZone: "Europe/Berlin" });
    const [listed] = (await schedulesPage(session(), { filters: {} })).items;
    expect(listed).toMatchObject({
      name: "yearly",
      when: "0 3 1 1 * (Europe/Berlin)",
      what: "run smallest.yaml (seed 1)",
    });
    // 3 in the morning there is 2 in UTC.
    for (const time of listed!.next) expect(time).toMatch(/^\d{4}-01-01T02:00:00/);
    expect(await resumeSchedule(session(), "yearly")).toMatchObject({ paused: false });
    expect(await pauseSchedule(session(), "yearly", "holidays")).toMatchObject({
      paused: true,
      note: "holidays",
    });
    expect(await triggerSchedule(session(), "yearly")).toMatchObject({ triggered: "started", runs: 1 });
    const { recent } = await until("yearly", ({ runs }) => runs === 1);
    const result = await bench.client.workflow.getHandle(recent[0]!.workflow).result();
    expect(result).toEqual({ experiment: expect.stringMatching(/^yearly-\d{8}T\d{6}Z$/), ended: false });
    await deleteSchedule(session(), "yearly");
    expect((await schedulesPage(session(), { filters: {} })).items).toEqual([]);
  });

  it.each([
    ["skip", "skipped", { runs: 1, skipped: 1 }],
    ["buffer-one", "waits", { runs: 1, skipped: 0 }],
  ])("that has overlap %s and a run going on tells a trigger: %s", async (overlap, triggered, counts) => {
    const open = Promise.withResolvers<void>();
    bench.use(measuring(open.promise));
    const name = `triggered-${overlap}`;
    await createSchedule(session(), { ...yearly, name, overlap });
    expect(await triggerSchedule(session(), name)).toMatchObject({ triggered: "started" });
    // Runs are named by the second.
    await sleep(1100);
    expect(await triggerSchedule(session(), name)).toMatchObject({ triggered, ...counts });
    open.resolve();
    const runs = triggered === "waits" ? 2 : 1;
    const { recent } = await until(name, (view) => view.runs === runs);
    for (const { workflow } of recent) await bench.client.workflow.getHandle(workflow).result();
    await deleteSchedule(session(), name);
  });

  it("has a name of its own", async () => {
    await createSchedule(session(), yearly);
    await expect(createSchedule(session(), yearly)).rejects.toMatchObject({
      name: "ScheduleError",
      kind: "conflict",
    });
    await deleteSchedule(session(), "yearly");
  });
});

describe("nothing is made of", () => {
  const evaluation = { kind: "evaluate", experiment: "gone", policy: "latest", set: "heldout" } as const;
  it.each<[string, Partial<Record<keyof NewSchedule, unknown>>, RegExp]>([
    ["a cron that is none", { cron: "0 3 * *" }, /0 3 \* \*/],
    ["a cron out of range", { cron: "61 3 * * *" }, /61 3/],
    ["a cron that never comes", { cron: "0 0 31 2 *" }, /never fires/],
    ["a cron in the past", { cron: "0 0 1 1 * 2020" }, /never fires/],
    ["a second way to name a zone", { cron: "TZ=Asia/Tokyo 0 3 * * *" }, /^cron/],
    [
      "an unknown zone",
      { timeZone: "Europe/Atlantis" },
      /timeZone "Europe\/Atlantis": expected an IANA name/,
    ],
    ["neither cron nor interval", { cron: undefined }, /exactly one of cron/],
    ["both", { every: "1h" }, /exactly one of cron/],
    [
      "a duration that is none",
      { cron: undefined, every: "6 hours" },
      /every "6 hours": expected a duration/,
    ],
    ["an empty interval", { cron: undefined, every: "0s" }, /every/],
    ["an unknown overlap", { overlap: "queue" }, /overlap "queue": expected skip, buffer-one/],
    ["a catch-up too short", { catchUp: "1s" }, /catchUp "1s": expected a duration of at least 10s/],
    ["a jitter that is none", { jitter: "some" }, /jitter/],
    ["a condition that is none", { until: "loss < 1" }, /until "loss < 1": expected pass@1/],
    [
      "a condition on an unknown set",
      { until: "pass@1(nowhere) > 0.5" },
      /a task set that is measured: heldout/,
    ],
    [
      "an unknown environment",
      { work: { ...work, settings: { ...smallest, environments: { train: ["no"] } } } },
      /environments.train/,
    ],
    ["an unknown experiment", { work: evaluation }, /no experiment "gone"/],
    ["a name with spaces", { name: "my schedule" }, /name "my schedule": expected/],
  ])("%s", async (_, change, message) => {
    await expect(createSchedule(session(), { ...yearly, ...change } as NewSchedule)).rejects.toThrow(message);
    expect((await schedulesPage(session(), { filters: {} })).items).toEqual([]);
  });

  it("an unknown schedule", async () => {
    for (const change of [showSchedule, pauseSchedule, resumeSchedule, triggerSchedule, deleteSchedule])
      await expect(change(session(), "gone")).rejects.toMatchObject({
        name: "ScheduleError",
        kind: "missing",
      });
  });
});
