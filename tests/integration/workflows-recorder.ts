/**
 * The loop's workflows on a real Temporal server, with activities that only note what they are asked and give a small plausible answer:
 * what the workflows decide shows in the inputs.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Context } from "@temporalio/activity";
import type { Client } from "@temporalio/client";
import {
  bundleWorkflowCode,
  DefaultLogger,
  Runtime,
  Worker,
  type WorkflowBundlePath,
} from "@temporalio/worker";
import type { Activities, CandidateRef, GroupInput } from "../../activities/types.ts";
import type { ArtifactRef } from "../../core/artifact.ts";
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { PolicyRef } from "../../core/policy.ts";
import { applyOverrides, parseExperimentFile } from "../../core/schemas/index.ts";
import type { Scope } from "../../core/scope.ts";
import { packageRoot } from "../../infra/stack/index.ts";
import { QUEUES } from "../../workflows/queues.ts";
import { onceInRun } from "../support/run-folder.ts";
import { startTestTemporal } from "../support/temporal.ts";

const file = new URL("../support/smallest.yaml", import.meta.url);
export const smallest = applyOverrides(parseExperimentFile(readFileSync(file, "utf8"), "smallest.yaml"), [
  "filter.probes=2",
  "climb.groupSize=2",
  // What every run is measured by is no more than it must be: each group is a workflow of its own.
  "evaluation.greedy=false",
  "evaluation.sets.heldout.tasks=1",
  "evaluation.sets.heldout.samplesPerTask=1",
]);
export const changed = (...overrides: string[]): ExperimentSettings => applyOverrides(smallest, overrides);
export const scopeOf = (experiment: string, iteration = 1): Scope => ({ experiment, iteration, try: 1 });

/** Made once in a run of the tests. `interceptor` is a file of `tests/support` that the bundle holds beside the workflows. */
export async function bundleWorkflows(interceptor: string | null = null): Promise<WorkflowBundlePath> {
  const folder = await onceInRun(
    interceptor === null ? "workflows" : `workflows-${interceptor}`,
    async (to) => {
      const { code } = await bundleWorkflowCode({
        workflowsPath: join(packageRoot, "workflows/index.ts"),
        workflowInterceptorModules:
          interceptor === null ? [] : [join(packageRoot, "tests/support", `${interceptor}.ts`)],
        logger: new DefaultLogger("ERROR"),
      });
      await writeFile(join(to, "bundle.js"), code);
    },
  );
  return { codePath: join(folder, "bundle.js") };
}

type Name = keyof Activities;
type Input<N extends Name> = Parameters<Activities[N]>[0];
type Answers = {
  [N in Name]: (input: Input<N>) => ReturnType<Activities[N]> | Awaited<ReturnType<Activities[N]>>;
};

const artifact = (kind: ArtifactRef["kind"]): ArtifactRef => ({
  uri: `artifact:${"0".repeat(64)}`,
  sha256: "0".repeat(64),
  bytes: 1,
  kind,
});

export function policyOf(id: string, parent: string | null = null, step = 0): PolicyRef {
  return { id, checkpoint: artifact("policy"), parent, step };
}

export const start = policyOf("start");

/** Id of each version: the policy after that many updates, `skipped` ones leaving it as it was. */
export function versionsOf(updates: number, skipped: readonly number[] = []): string[] {
  const versions = ["start"];
  for (let update = 1; update <= updates; update++)
    versions.push(skipped.includes(update) ? versions.at(-1)! : `${versions.at(-1)}+${update}`);
  return versions;
}

export function candidateOf(index: number, change: Partial<CandidateRef> = {}): CandidateRef {
  return {
    index,
    environment: { name: "a", key: "a@1" },
    generator: "mutation",
    key: `key-${index}`,
    functions: [`a#index.js#f${index}`],
    artifact: artifact("task"),
    ...change,
  };
}

/** Every candidate is valid, every group mixed, every task admitted; update u of an iteration makes `<parent>+<u>`. */
const PLAUSIBLE: Answers = {
  prepareEnvironment: ({ name }) => ({ name, key: `${name}@1` }),
  startPolicy: () => start,
  synthesise: ({ from, count }) => ({
    candidates: Array.from({ length: count }, (_, i) => candidateOf(from + i)),
    empty: [],
  }),
  validate: ({ candidate, recordScope }) => ({ taskId: `${recordScope}:${candidate.key}`, rejectedBy: null }),
  refine: () => ({ written: true, reason: null }),
  harden: ({ candidate, round }) => ({
    candidate: { ...candidate, generator: "combination", key: `${candidate.key}+${round}` },
    reason: null,
  }),
  repair: () => ({ candidate: null, reason: "no author writes tasks" }),
  rewrite: ({ taskId, level, round }) => ({ taskId: `${taskId}+${round}`, level, reason: null }),
  rollout: ({ group, member }) => ({
    key: `${group.key}/${member}`,
    exit: "agent",
    turns: 2,
    generatedTokens: 9,
  }),
  verify: ({ key, size }) => ({ key, passes: 1, size, meanReward: 1 / size, zeroVariance: false }),
  filter: () => ({ action: "admit" }),
  assemble: ({ groups }) => ({ batch: artifact("batch"), kept: groups.length, dropped: 0 }),
  update: ({ parent, update }) => policyOf(`${parent.id}+${update}`, parent.id, parent.step + 1),
  publish: () => undefined,
  evaluate: ({ groups }) => ({ tasks: groups.length, samples: 1, passAt1: 0.5, low: 0, high: 1 }),
  findIteration: () => null,
  findPool: () => [],
  findTaskSet: ({ spec }) => ({ hash: `${spec.tasks}-${spec.functions}`, found: null }),
  saveTaskSet: () => undefined,
  hold: ({ hold }) => hold,
  noteFailures: () => undefined,
  noteRequest: () => undefined,
  release: () => null,
  amend: () => undefined,
  awaitDrained: () => undefined,
  watch: () => Context.current().cancelled,
  recordExperiment: () => undefined,
  recordIteration: () => undefined,
  noteUsed: ({ before, keys }) => ({
    ...artifact("keys"),
    sha256: createHash("sha256")
      .update(JSON.stringify([before?.sha256, keys]))
      .digest("hex"),
  }),
};

/** Of one test: its answers, and what the workflows asked so far, in order. */
export class Recorder {
  readonly calls: { readonly name: Name; readonly input: unknown }[] = [];
  readonly #answers: Answers;

  constructor(answers: Partial<Answers> = {}) {
    this.#answers = { ...PLAUSIBLE, ...answers };
  }

  inputs<N extends Name>(name: N): Input<N>[] {
    return this.calls.filter((call) => call.name === name).map((call) => call.input as Input<N>);
  }

  /** Inputs of verify: the groups that were collected, by their keys. */
  groups(): Map<string, GroupInput> {
    return new Map(this.inputs("verify").map((group) => [group.key, group]));
  }

  async answer(name: Name, input: unknown): Promise<unknown> {
    this.calls.push({ name, input });
    return (this.#answers[name] as (input: unknown) => unknown)(input);
  }
}

export interface WorkflowBench {
  readonly client: Client;
  /** From now on `recorder` is all activities. */
  use(recorder: Recorder): void;
  /** Runs one workflow to its end, with `recorder` as all its activities. */
  run<T>(workflow: string, id: string, input: object, recorder: Recorder): Promise<T>;
  close(): Promise<void>;
}

let installed = false;

/** `extraArgs` go to the server; `more` are activities beside the recorder's. */
export async function openWorkflowBench(
  workflowBundle: WorkflowBundlePath,
  extraArgs: readonly string[] = [],
  more: object = {},
): Promise<WorkflowBench> {
  if (!installed) {
    Runtime.install({
      logger: new DefaultLogger("ERROR"),
      shutdownSignals: [],
      telemetryOptions: { logging: { filter: "ERROR", forward: {} } },
    });
    installed = true;
  }
  const environment = await startTestTemporal(extraArgs);
  let recorder = new Recorder();
  const activities = Object.fromEntries(
    (Object.keys(PLAUSIBLE) as Name[]).map((name) => [
      name,
      (input: unknown) => recorder.answer(name, input),
    ]),
  );
  const connection = environment.nativeConnection;
  const workers = await Promise.all(
    Object.values(QUEUES).map((taskQueue) =>
      Worker.create({
        connection,
        taskQueue,
        activities: { ...activities, ...more },
        shutdownGraceTime: 0,
        ...(taskQueue === QUEUES.orchestrate ? { workflowBundle } : {}),
      }),
    ),
  );
  const running = Promise.all(workers.map((worker) => worker.run()));
  return {
    client: environment.client,
    use: (next) => {
      recorder = next;
    },
    run: (workflow, workflowId, input, next) => {
      recorder = next;
      const options = { workflowId, taskQueue: QUEUES.orchestrate, args: [input] };
      return environment.client.workflow.execute(workflow, options);
    },
    close: async () => {
      for (const worker of workers) worker.shutdown();
      await running;
      await environment.teardown();
    },
  };
}
