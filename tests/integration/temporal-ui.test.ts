/** What the Temporal UI shows, on a real server: list filters by attribute, current details, phases; attributes on servers of others. */
import { setTimeout as sleep } from "node:timers/promises";
import { TestWorkflowEnvironment } from "@temporalio/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Attributes, attributeFilter } from "../../core/search-attributes.ts";
import type { ExperimentSteering } from "../../core/steering.ts";
import {
  connectTemporal,
  ensureSearchAttributes,
  searchAttributes as stackAttributes,
  temporalProgram,
} from "../../infra/stack/index.ts";
import { searchAttributes } from "../../workflows/attributes.ts";
import { QUEUES } from "../../workflows/queues.ts";
import {
  bundleWorkflows,
  candidateOf,
  changed,
  openWorkflowBench,
  Recorder,
  type WorkflowBench,
} from "./workflows-recorder.ts";

let bench: WorkflowBench;
beforeAll(async () => {
  bench = await openWorkflowBench(await bundleWorkflows());
});
afterAll(() => bench?.close());

/** Ids by a filter, sorted; asked until there are as many as expected, for lists follow what happens with a delay. */
async function listed(query: string, count: number): Promise<string[]> {
  let ids: string[] = [];
  for (let ask = 0; ask < 100; ask++) {
    ids = [];
    for await (const { workflowId } of bench.client.workflow.list({ query })) ids.push(workflowId);
    if (ids.length === count) break;
    await sleep(100);
  }
  return ids.sort();
}

async function details(workflowId: string): Promise<string> {
  const metadata = await bench.client.workflow
    .getHandle(workflowId)
    .query<{ readonly currentDetails?: string }>("__temporal_workflow_metadata");
  return metadata.currentDetails ?? "";
}

const stateOf = (name: string) =>
  bench.client.workflow.getHandle(`exp/${name}`).query<ExperimentSteering>("state");

describe("an experiment", () => {
  const phases: string[] = [];
  const name = "shown";
  beforeAll(async () => {
    const note = async () => void phases.push((await stateOf(name)).phase);
    const recorder = new Recorder({
      // Of the pool's, the first two were used by the fixed sets.
      synthesise: ({ from, count, choice }) => {
        const indices = Array.from({ length: count }, (_, i) => from + i);
        const isUsed = (index: number) => choice === "random" && index < 2;
        return {
          candidates: indices.filter((index) => !isUsed(index)).map((index) => candidateOf(index)),
          empty: indices.filter(isUsed).map((index) => ({ index, reason: "used before" })),
        };
      },
      validate: async ({ candidate, recordScope }) => {
        if (!recordScope.startsWith("set/")) await note();
        if (candidate.index === 3 && !recordScope.startsWith("set/"))
          return { taskId: null, rejectedBy: "stability" };
        return { taskId: `${recordScope}:${candidate.key}`, rejectedBy: null };
      },
      verify: async ({ key, size, phase }) => {
        if (phase === "climb") await note();
        const passes = key.endsWith("/climb/3/1") ? 0 : 1;
        return { key, passes, size, meanReward: passes / size, zeroVariance: passes === 0 };
      },
      rollout: ({ group, member }) => ({
        key: `${group.key}/${member}`,
        exit: "agent",
        turns: 1,
        generatedTokens: 1,
        failure: member === 0 && group.phase === "climb" ? "timeout: the sandbox host is busy" : null,
      }),
      evaluate: async ({ groups }) => {
        await note();
        return { tasks: groups.length, samples: 1, passAt1: 0.5, low: 0, high: 1 };
      },
    });
    bench.use(recorder);
    const settings = changed(
      "concurrency.calibrations=1",
      "climb.updates=3",
      "evaluation.sets.heldout.tasks=2",
    );
    await bench.client.workflow.execute("runExperiment", {
      workflowId: `exp/${name}`,
      taskQueue: QUEUES.orchestrate,
      args: [{ name, settings }],
      typedSearchAttributes: searchAttributes({ experiment: name, iteration: 0, phase: "preparation" }),
    });
  });

  it("tells each phase by the query, in their order", () => {
    expect(phases.filter((phase, index) => phase !== phases[index - 1])).toEqual([
      "preparation",
      "pool",
      "climb",
      "selection",
      "evaluation",
    ]);
  });

  const it1 = "exp/shown/it/1/try/1";
  const finds: readonly [Attributes, string, readonly string[]][] = [
    [{ phase: "pool" }, "", [`${it1}/pool`, `${it1}/task/2`, `${it1}/task/3`, `${it1}/task/4`]],
    [{ outcome: "rejected", environment: "a" }, "", [`${it1}/task/3`]],
    [{ outcome: "admitted", iteration: 1 }, "", [`${it1}/task/2`, `${it1}/task/4`]],
    [{ outcome: "uniform", environment: "a" }, "", [`${it1}/group/3-1`]],
    [
      { outcome: "made" },
      ' AND WorkflowType = "prepareTaskSet"',
      ["exp/shown/set/heldout", "exp/shown/set/validation"],
    ],
    [{ phase: "selection" }, ' AND WorkflowType = "evaluatePolicy"', [`${it1}/select/2`, `${it1}/select/3`]],
    [
      { phase: "evaluation", iteration: 0, policy: "start" },
      "",
      ["eval/start/heldout/sampled/exp/shown/it/0/try/1"],
    ],
    [{ outcome: "finished" }, ' AND WorkflowType = "runIteration"', [it1]],
    [{ outcome: "done" }, "", ["exp/shown"]],
  ];
  it.each(finds)("is found by %j%s", async (attributes, more, expected) => {
    const query = `TadpoleExperiment = "shown" AND ${attributeFilter(attributes)}${more}`;
    expect(await listed(query, expected.length)).toEqual(expected);
  });

  it("has attributes in every run, those continued as new too", async () => {
    const query = 'WorkflowType = "runExperiment" AND WorkflowId = "exp/shown"';
    expect(await listed(query, 2)).toHaveLength(2);
    expect(await listed(`${query} AND TadpoleExperiment = "shown"`, 2)).toHaveLength(2);
    expect(await listed(`WorkflowId STARTS_WITH "exp/shown" AND TadpoleExperiment IS NULL`, 0)).toEqual([]);
  });

  it("shows where each of its workflows stands", async () => {
    expect(await details(`${it1}/pool`)).toMatch(/\*\*2 of 2 tasks\*\* from 3 candidates .*: 1 left out/);
    expect(await details(`${it1}/pool`)).toContain("last left out: candidate 3, a mutation in a: stability");
    const climbed = await details(`${it1}/climb`);
    expect(climbed).toContain("**3 of 3 updates** · policy `start+1+2+3`");
    expect(climbed).toContain("last update: 3 from 2 of 2 groups");
    expect(climbed).toMatch(/0\/2 █+ +1\n1\/2 █+ +\d/);
    expect(climbed).toContain("last failure: timeout: the sandbox host is busy");
    expect(await details(it1)).toMatch(/\*\*finished\*\*.*- selected: `start\+1\+2\+3`/s);
    expect(await details("eval/start/heldout/sampled/exp/shown/it/0/try/1")).toContain("**2 of 2 tasks**");
    expect(await details("exp/shown")).toMatch(
      /^\*\*done\*\* · evaluation · iteration 1 of 1\n\npolicy `start\+1/,
    );
    expect(await details("exp/shown")).toContain("- pass@1 of `start` on heldout (sampled): **50.0 %**");
    expect(await details("exp/shown/set/heldout")).toContain("**2 of 2 tasks** from 2 candidates");
  });

  it("has a summary and details on each workflow and a sentence on each activity", async () => {
    for await (const { workflowId, runId } of bench.client.workflow.list({
      query: 'TadpoleExperiment = "shown"',
    })) {
      const handle = bench.client.workflow.getHandle(workflowId, runId);
      const { events } = await handle.fetchHistory();
      for (const event of events ?? []) {
        if (event.startChildWorkflowExecutionInitiatedEventAttributes)
          expect([workflowId, event.userMetadata?.summary, event.userMetadata?.details]).not.toContain(
            undefined,
          );
        if (event.activityTaskScheduledEventAttributes)
          expect([
            event.activityTaskScheduledEventAttributes.activityType?.name,
            event.userMetadata?.summary?.data?.length,
          ]).not.toContain(undefined);
      }
    }
  });
});

describe("a server that runs elsewhere", () => {
  let server: TestWorkflowEnvironment;
  afterAll(() => server?.teardown());
  const start = async (extraArgs: string[] = []) => {
    await server?.teardown();
    server = await TestWorkflowEnvironment.createLocal({
      server: { executable: { type: "existing-path", path: temporalProgram() }, extraArgs },
    });
    const settings = { address: server.address, namespace: "default", apiKeyVariable: null, tls: null };
    const { connection } = await connectTemporal(settings);
    const ensure = () => ensureSearchAttributes(connection, settings);
    const names = async () => {
      const { customAttributes } = await connection.operatorService.listSearchAttributes({
        namespace: "default",
      });
      return Object.keys(customAttributes ?? {})
        .filter((name) => name.startsWith("Tadpole"))
        .sort();
    };
    return { connection, ensure, names };
  };

  it("is given the attributes once, and again by nobody", async () => {
    const { connection, ensure, names } = await start();
    expect(await names()).toEqual([]);
    await Promise.all([ensure(), ensure()]);
    await ensure();
    expect(await names()).toEqual(Object.keys(stackAttributes).sort());
    await connection.close();
  });

  it("that has one of another type, or no room, is an error that says so, and is left as it is", async () => {
    const other = await start(["--search-attribute", "TadpoleIteration=Keyword"]);
    await expect(other.ensure()).rejects.toMatchObject({
      kind: "settings",
      message: expect.stringMatching(/TadpoleIteration of type Keyword, expected Int/),
    });
    expect(await other.names()).toEqual(["TadpoleIteration"]);
    await other.connection.close();
    const taken = Array.from({ length: 6 }, (_, i) => ["--search-attribute", `Other${i}=Keyword`]).flat();
    const full = await start(taken);
    await expect(full.ensure()).rejects.toMatchObject({
      kind: "settings",
      message: expect.stringMatching(
        /lacks the search attributes TadpoleExperiment \(Keyword\), .*operator search-attribute create/,
      ),
    });
    expect(await full.names()).toEqual([]);
    await full.connection.close();
  });
});
