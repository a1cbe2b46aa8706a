/** The activity tables of the task queues, over injected services. */

import type { SandboxRuntimeName } from "../core/experiment.ts";
import {
  holdExperiment,
  poolOf,
  recordAmendments,
  recordRequest,
  releaseExperiment,
  StoreError,
} from "../services/store/index.ts";
import { assemble } from "./assemble.ts";
import { heartbeating, withFailures } from "./context.ts";
import { evaluate } from "./evaluate.ts";
import { filter } from "./filter.ts";
import { harden } from "./harden.ts";
import { withHold } from "./hold.ts";
import { noteFailures } from "./noteFailures.ts";
import { prepareEnvironment } from "./prepareEnvironment.ts";
import {
  findIteration,
  findTaskSet,
  noteUsed,
  recordExperiment,
  recordIteration,
  saveTaskSet,
} from "./records.ts";
import { refine } from "./refine.ts";
import { repair } from "./repair.ts";
import { rewrite } from "./rewrite.ts";
import { rollout } from "./rollout.ts";
import { runtimeOfExperiment } from "./runtime.ts";
import type { GpuServices, RecordServices, SandboxKit, SandboxServices, WatchServices } from "./services.ts";
import { synthesise } from "./synthesise.ts";
import type {
  AssembleInput,
  GpuActivities,
  RecordActivities,
  SandboxActivities,
  WatchActivities,
} from "./types.ts";
import { startPolicy, update } from "./update.ts";
import { validate } from "./validate.ts";
import { verify } from "./verify.ts";
import { awaitDrained, watch } from "./watch.ts";

export { createHostActivities } from "./reapSandboxes.ts";
export { createScheduleActivities } from "./schedules.ts";
export type {
  EnvironmentAccess,
  PolicyAccess,
  RecordServices,
  SandboxKit,
  SandboxServices,
} from "./services.ts";

export function createRecordActivities(services: RecordServices): RecordActivities {
  const { db } = services;
  return withFailures({
    ...withHold(services, { assemble: (input: AssembleInput) => assemble(services, input) }),
    amend: ({ experiment, amendments }) => recordAmendments(db, experiment, amendments),
    evaluate: (input) => evaluate(services, input),
    filter: (input) => filter(services, input),
    findIteration: (input) => findIteration(services, input),
    findPool: ({ experiment, iteration }) => poolOf(db, experiment, iteration),
    findTaskSet: (input) => findTaskSet(services, input),
    hold: async ({ experiment, hold }) => {
      const standing = await holdExperiment(db, experiment, hold);
      if (standing === null) throw new StoreError("missing", `no experiment "${experiment}" is recorded`);
      return standing;
    },
    noteFailures: (input) => noteFailures(services, input),
    noteRequest: (input) => recordRequest(db, input),
    noteUsed: (input) => noteUsed(services, input),
    publish: ({ policy, policyServer }) => services.policy.publish(policy, policyServer),
    recordExperiment: (input) => recordExperiment(services, input),
    recordIteration: (input) => recordIteration(services, input),
    refine: (input) => refine(services, input),
    release: (input) => releaseExperiment(db, input),
    saveTaskSet: (input) => saveTaskSet(services, input),
  });
}

export function createWatchActivities(services: WatchServices): WatchActivities {
  return withFailures({
    awaitDrained: ({ experiment }) => awaitDrained(services, experiment),
    watch: (input) => watch(services, input),
  });
}

/** `kitOf` is asked for the runtime that the experiment of each activity has chosen. */
export function createSandboxActivities(
  services: RecordServices,
  kitOf: (runtime: SandboxRuntimeName) => SandboxKit,
): SandboxActivities {
  const on = async (): Promise<SandboxServices> => ({
    ...services,
    ...kitOf(await runtimeOfExperiment(services.db)),
  });
  return withHold(services, {
    harden: async (input) => harden(await on(), input),
    prepareEnvironment: async (input) => prepareEnvironment(await on(), input),
    repair: async (input) => repair(await on(), input),
    rewrite: async (input) => rewrite(await on(), input),
    rollout: async (input) => rollout(await on(), input),
    synthesise: async (input) => synthesise(await on(), input),
    validate: async (input) => validate(await on(), input),
    verify: async (input) => verify(await on(), input),
  });
}

export function createGpuActivities(services: GpuServices): GpuActivities {
  return withHold(services, {
    publish: ({ policy, policyServer }) =>
      heartbeating(({ signal }) => services.policy.publish(policy, policyServer, signal)),
    startPolicy: (input) => startPolicy(services, input),
    update: (input) => update(services, input),
  });
}
