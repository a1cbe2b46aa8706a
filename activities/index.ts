/** The activity tables of the three task queues, over injected services. */
import { assemble } from "./assemble.ts";
import { withFailures } from "./context.ts";
import { prepareEnvironment } from "./environments.ts";
import { evaluate } from "./evaluate.ts";
import { filter } from "./filter.ts";
import { findTaskSet, recordExperiment, recordIteration, saveTaskSet } from "./records.ts";
import { refine } from "./refine.ts";
import { rollout } from "./rollout.ts";
import type { GpuServices, RecordServices, SandboxServices } from "./services.ts";
import { synthesise } from "./synthesise.ts";
import type { Activities } from "./types.ts";
import { startPolicy, update } from "./update.ts";
import { validate } from "./validate.ts";
import { verify } from "./verify.ts";

export type {
  EnvironmentAccess,
  GpuServices,
  PolicyAccess,
  PolicyServerSettings,
  RecordServices,
  SandboxServices,
} from "./services.ts";

type Verbs<Name extends keyof Activities> = Pick<Activities, Name>;

export function createRecordActivities(
  services: RecordServices,
): Verbs<
  | "assemble"
  | "evaluate"
  | "filter"
  | "findTaskSet"
  | "publish"
  | "recordExperiment"
  | "recordIteration"
  | "refine"
  | "saveTaskSet"
> {
  return withFailures({
    assemble: (input) => assemble(services, input),
    evaluate: (input) => evaluate(services, input),
    filter: (input) => filter(services, input),
    findTaskSet: (input) => findTaskSet(services, input),
    publish: ({ policy, policyServer }) => services.policy.publish(policy, policyServer),
    recordExperiment: (input) => recordExperiment(services, input),
    recordIteration: (input) => recordIteration(services, input),
    refine: (input) => refine(services, input),
    saveTaskSet: (input) => saveTaskSet(services, input),
  });
}

export function createSandboxActivities(
  services: SandboxServices,
): Verbs<"prepareEnvironment" | "rollout" | "synthesise" | "validate" | "verify"> {
  return withFailures({
    prepareEnvironment: (input) => prepareEnvironment(services, input),
    rollout: (input) => rollout(services, input),
    synthesise: (input) => synthesise(services, input),
    validate: (input) => validate(services, input),
    verify: (input) => verify(services, input),
  });
}

export function createGpuActivities(services: GpuServices): Verbs<"startPolicy" | "update"> {
  return withFailures({
    startPolicy: (input) => startPolicy(services, input),
    update: (input) => update(services, input),
  });
}
