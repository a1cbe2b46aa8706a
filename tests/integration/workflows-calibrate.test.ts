/** What calibrateTask does with a task that is out of band: each named action, its bounds, and what it hands on. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FilterOutput, RewriteInput, SynthesiseInput } from "../../activities/types.ts";
import type { Diagnosis } from "../../core/diagnosis.ts";
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { CalibrateTaskOutput } from "../../workflows/calibrateTask.ts";
import type { TaskPool } from "../../workflows/fillTaskPool.ts";
import {
  bundleWorkflows,
  candidateOf,
  changed,
  openWorkflowBench,
  Recorder,
  scopeOf,
  smallest,
  start,
  type WorkflowBench,
} from "./workflows-recorder.ts";

let bench: WorkflowBench;
beforeAll(async () => {
  bench = await openWorkflowBench(await bundleWorkflows());
});
afterAll(() => bench?.close());

const AUTHOR = "synthesis.author={baseUrl: 'http://127.0.0.1:9', model: m, repairs: 2}";
const written = changed(AUTHOR, "filter.refiner=model");
const source = {
  seed: 1,
  randomKeys: [1, "pool"],
  environments: [],
  choice: "random",
  functions: "train",
  mix: { llm: 1 },
  heldOutShare: 0,
  exclude: null,
  from: 7,
  count: 1,
} as const satisfies SynthesiseInput;

const calibrate = (name: string, recorder: Recorder, settings = smallest) =>
  bench.run<CalibrateTaskOutput>(
    "calibrateTask",
    `exp/${name}/task/7`,
    { scope: scopeOf(name), candidate: candidateOf(7), policy: start, settings },
    recorder,
  );

const authored = (name: string, recorder: Recorder, settings = written) =>
  bench.run<CalibrateTaskOutput>(
    "calibrateTask",
    `exp/${name}/task/7`,
    {
      ...{ scope: scopeOf(name), policy: start, settings, source },
      candidate: candidateOf(7, { generator: "llm" }),
    },
    recorder,
  );

const diagnosis: Diagnosis = { cause: "too-hard", evidence: "2 of 2 rollouts fail" };
const admit: FilterOutput = { action: "admit" };

/** Decisions in the order of the probes. */
const deciding =
  (...decisions: FilterOutput[]) =>
  ({ refinement }: { readonly refinement: number }) =>
    decisions[refinement] ?? admit;

describe("levels", () => {
  it("are all that the filter is offered where nothing else is set", async () => {
    const recorder = new Recorder();
    await calibrate("plain", recorder);
    expect(recorder.inputs("filter")[0]).not.toHaveProperty("means");
  });

  it("change by their names as by the name that they had before", async () => {
    const recorder = new Recorder({
      filter: deciding({ action: "raise-level", level: 3 }, { action: "refine", level: 1 }),
    });
    const { admitted, refinements } = await calibrate("named", recorder);
    expect(recorder.inputs("refine").map(({ level }) => level)).toEqual([3, 1]);
    expect([admitted?.level, refinements]).toEqual([1, 2]);
  });

  it("begin with the least that says what the tests need", async () => {
    const recorder = new Recorder({ validate: () => ({ taskId: "t", rejectedBy: null, level: 3 }) });
    expect((await calibrate("needed", recorder)).admitted?.level).toBe(3);
    expect(recorder.inputs("verify")).toMatchObject([{ level: 3 }]);
  });
});

describe("a rewritten text", () => {
  const otherwise = { action: "raise-level", level: 3 } as const;
  const rewrite: FilterOutput = { action: "add-behaviour", level: 2, otherwise, diagnosis };

  it("is another task, probed anew as if no level had been", async () => {
    const recorder = new Recorder({ filter: deciding(rewrite) });
    const output = await calibrate("rewritten", recorder, written);
    const taskId = "rewritten/it/1/try/1:key-7";
    expect(output).toMatchObject({ admitted: { taskId: `${taskId}+1`, level: 2 }, refinements: 1 });
    expect(recorder.inputs("rewrite")).toMatchObject([
      { taskId, action: "add-behaviour", round: 1, candidate: 7, diagnosis, author: { model: "m" } },
    ]);
    expect(recorder.inputs("filter")).toMatchObject([
      { means: { rewrite: true, harden: false, sendBack: false, hint: false }, done: [], probed: [2] },
      { taskId: `${taskId}+1`, done: ["add-behaviour"], probed: [2], refinement: 1 },
    ]);
    expect(recorder.inputs("rollout").map(({ group }) => group.taskId)).toContain(`${taskId}+1`);
  });

  it("is held against the benchmarks that the experiment names", async () => {
    const decontaminate = [`artifact:${"0".repeat(64)}`];
    const { synthesis } = written;
    const gates = { ...synthesis.gates, decontaminate };
    const recorder = new Recorder({ filter: deciding(rewrite) });
    await calibrate("held-against", recorder, { ...written, synthesis: { ...synthesis, gates } });
    expect(recorder.inputs("rewrite")).toMatchObject([{ decontaminate }]);
  });

  it("that passes no gate gives way to what is done without a model", async () => {
    const none = {
      rewrite: ({ level }: RewriteInput) => ({ taskId: null, level, reason: "it leaks" }),
    };
    const recorder = new Recorder({ ...none, filter: deciding(rewrite) });
    expect((await calibrate("unwritten", recorder, written)).admitted).toMatchObject({
      taskId: "unwritten/it/1/try/1:key-7",
      level: 3,
    });
    const last: FilterOutput = { ...rewrite, otherwise: { action: "drop", reason: "between-levels" } };
    const dropped = new Recorder({ ...none, filter: deciding(last) });
    expect(await calibrate("dropped", dropped, written)).toMatchObject({ reason: "between-levels" });
  });
});

describe("hardening", () => {
  const settings = changed("filter.hardenByCombining=true");

  it("validates and probes another candidate of the same index", async () => {
    const recorder = new Recorder({ filter: deciding({ action: "harden" }) });
    const output = await calibrate("hardened", recorder, settings);
    expect(output).toMatchObject({ admitted: { taskId: "hardened/it/1/try/1:key-7+1" }, key: "key-7+1" });
    expect(recorder.inputs("harden")).toMatchObject([
      { taskId: "hardened/it/1/try/1:key-7", round: 1, candidate: { key: "key-7", generator: "mutation" } },
    ]);
    expect(recorder.inputs("validate")).toMatchObject([
      { candidate: { key: "key-7" } },
      { candidate: { key: "key-7+1", index: 7, generator: "combination" }, revision: 1 },
    ]);
    expect(recorder.inputs("validate")[0]).not.toHaveProperty("revision");
    expect(recorder.inputs("filter")).toMatchObject([
      { means: { harden: true } },
      { done: ["harden"], probed: [2] },
    ]);
  });

  it("drops what cannot be combined, and what is refused then", async () => {
    const alone = new Recorder({
      filter: deciding({ action: "harden" }),
      harden: () => ({ candidate: null, reason: "no other place" }),
    });
    expect(await calibrate("alone", alone, settings)).toMatchObject({ reason: "harden: no other place" });
    const refused = new Recorder({
      filter: deciding({ action: "harden" }),
      validate: ({ revision }) =>
        revision === undefined
          ? { taskId: "t", rejectedBy: null }
          : { taskId: null, rejectedBy: "ends", message: "never" },
    });
    expect(await calibrate("refused", refused, settings)).toMatchObject({
      admitted: null,
      reason: "harden: ends",
    });
  });
});

describe("an author", () => {
  it("repairs what a gate refuses, with what it said, as often as it may", async () => {
    const recorder = new Recorder({
      validate: ({ candidate }) =>
        candidate.key === "key-7+2"
          ? { taskId: "t", rejectedBy: null }
          : { taskId: null, rejectedBy: "leak", message: "level 0 tells the place" },
      repair: ({ candidate, round }) => ({
        candidate: { ...candidate, key: `key-7+${round}` },
        reason: null,
      }),
    });
    expect(await authored("repaired", recorder)).toMatchObject({
      admitted: { taskId: "t" },
      key: "key-7+2",
      refinements: 0,
    });
    const messages = ["leak: level 0 tells the place"];
    expect(recorder.inputs("repair")).toMatchObject([
      { round: 1, messages, source, candidate: { key: "key-7" } },
      { round: 2, messages, candidate: { key: "key-7+1" } },
    ]);
  });

  it("is not asked again once it has been asked enough, or gives up", async () => {
    const refusing = { validate: () => ({ taskId: null, rejectedBy: "leak", message: "it tells" }) } as const;
    const never = new Recorder({ ...refusing, repair: ({ candidate }) => ({ candidate, reason: null }) });
    expect(await authored("never", never)).toMatchObject({ admitted: null, reason: "leak" });
    expect(never.inputs("repair")).toHaveLength(2);
    const givesUp = new Recorder({ ...refusing, repair: () => ({ candidate: null, reason: "no delivery" }) });
    expect(await authored("gives-up", givesUp)).toMatchObject({ reason: "no delivery" });
    expect(givesUp.inputs("repair")).toHaveLength(1);
    const others = new Recorder(refusing);
    expect(await calibrate("others", others, written)).toMatchObject({ reason: "leak" });
    expect(others.inputs("repair")).toEqual([]);
  });

  it("is told of a probe that its tests are weak, and what it repairs is validated and probed again", async () => {
    const weak: Diagnosis = { cause: "weak-tests", evidence: "2 of 2 passes leave the files alone" };
    const recorder = new Recorder({
      filter: deciding({ action: "send-back", diagnosis: weak }),
      repair: ({ candidate, round }) => ({
        candidate: { ...candidate, key: `key-7+${round}` },
        reason: null,
      }),
    });
    expect(await authored("weak", recorder)).toMatchObject({
      admitted: { taskId: "weak/it/1/try/1:key-7+1" },
      refinements: 1,
    });
    expect(recorder.inputs("repair")).toMatchObject([
      { messages: ["weak-tests: 2 of 2 passes leave the files alone"] },
    ]);
    expect(recorder.inputs("filter").map(({ means }) => means?.sendBack)).toEqual([true, true]);
    expect(recorder.inputs("validate")).toHaveLength(2);
  });
});

it("says of a written task that nobody can repair it any more, so that weak tests end it", async () => {
  const recorder = new Recorder();
  const settings = changed("synthesis.author={baseUrl: 'http://127.0.0.1:9', model: m, repairs: 0}");
  await authored("spent", recorder, settings);
  expect(recorder.inputs("filter")).toMatchObject([
    { means: { rewrite: false, harden: false, sendBack: false, hint: false } },
  ]);
});

describe("hints", () => {
  const settings = changed("filter.hintLadder=true", "synthesis.maxLevel=2");
  const hint: FilterOutput = { action: "hint", level: 3, diagnosis };
  const passing = (passes: (level: number) => number) => ({
    verify: ({
      key,
      size,
      level,
    }: {
      readonly key: string;
      readonly size: number;
      readonly level: number;
    }) => ({
      ...{ key, size, passes: passes(level) },
      ...{ meanReward: 0, zeroVariance: true },
    }),
  });

  it("are climbed with the first level that somebody solves, outside of every label", async () => {
    const solved = passing((level) => (level === 3 ? 1 : 0));
    const recorder = new Recorder({ ...solved, filter: deciding(hint) });
    const output = await calibrate("hinted", recorder, settings);
    expect(output.admitted).toEqual({
      taskId: "hinted/it/1/try/1:key-7",
      environment: "a",
      level: 3,
      probeGroup: null,
      passRate: null,
      hinted: true,
    });
    expect(recorder.inputs("filter")).toHaveLength(1);
    expect([...recorder.groups().keys()]).toEqual([
      "hinted/it/1/try/1/task/7/probe/0",
      "hinted/it/1/try/1/task/7/hint/3",
    ]);
    const nobody = new Recorder({ ...passing(() => 0), filter: deciding(hint) });
    expect(await calibrate("nobody", nobody, settings)).toMatchObject({
      admitted: null,
      reason: "no-hint-helps",
    });
  });

  it("come beside the tasks that a pool is wanted for", async () => {
    const recorder = new Recorder({
      filter: ({ candidate }) => (candidate === 0 ? hint : admit),
    });
    const pool = await bench.run<TaskPool>(
      "fillTaskPool",
      "exp/apart/pool",
      {
        scope: scopeOf("apart"),
        settings: changed(
          ...["filter.hintLadder=true", "synthesis.maxLevel=2"],
          ...["synthesis.poolTasks=2", "concurrency.calibrations=1"],
        ),
        environments: [{ name: "a", key: "a@1" }],
        policy: start,
        exclude: null,
      },
      recorder,
    );
    expect(pool.admitted.map(({ taskId }) => taskId.split(":")[1])).toEqual(["key-1", "key-2"]);
    expect(pool.hinted).toMatchObject([{ taskId: "apart/it/1/try/1:key-0", level: 3, hinted: true }]);
    expect(pool.keys).toHaveLength(3);
  });
});

it("keeps what failed once the climb is over, where an author is to be shown it", async () => {
  const iterate = async (name: string, settings: ExperimentSettings) => {
    const recorder = new Recorder();
    const validation = { name: "validation", hash: "v", tasks: ["v1"], keys: ["kv"] };
    const environments = [{ name: "a", key: "a@1" }];
    const input = { scope: scopeOf(name), settings, environments, policy: start, validation, exclude: null };
    await bench.run("runIteration", `exp/${name}/it/1/try/1`, input, recorder);
    return recorder.calls.map((one) => one.name).filter((one) => one === "update" || one === "noteFailures");
  };
  const small = ["climb.updates=1", "climb.tasksPerBatch=1", "synthesis.poolTasks=1"];
  expect(await iterate("shown", changed(...small, AUTHOR, "filter.failuresShown=4"))).toEqual([
    "update",
    "noteFailures",
  ]);
  expect(await iterate("not-shown", changed(...small))).toEqual(["update"]);
});
