/** Starting, joining and awaiting experiments: the one way every face does it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  WorkflowNotFoundError,
} from "@temporalio/client";
import { ApplicationFailure } from "@temporalio/common";
import { describeExperiment } from "../../core/descriptions.ts";
import { type Ablation, type ExperimentSettings, settingsAt } from "../../core/experiment.ts";
import { experimentId } from "../../core/ids.ts";
import { applyOverrides, parseExperimentFile, SettingsError } from "../../core/schemas/index.ts";
import type { ExperimentStatus } from "../../core/statuses.ts";
import { packageRoot } from "../../infra/stack/paths.ts";
import {
  type ArtifactStore,
  createExperiment,
  type Db,
  getExperiment,
  provenImports,
  setResult,
  setStatus,
  steeringOnRecord,
} from "../../services/store/index.ts";
import { searchAttributes } from "../../workflows/attributes.ts";
import { QUEUES } from "../../workflows/queues.ts";
import type { runExperiment } from "../../workflows/runExperiment.ts";
import type { SteeringState } from "../../workflows/steering.ts";
import { locateBenchmarks, pinBenchmarks } from "./benchmarks.ts";

/** Experiments that ship with the project, by the name they are run with. */
const BUNDLED = new Set(["quickstart", "evidence", "frognano"]);

export interface LoadedExperiment {
  readonly settings: ExperimentSettings;
  /** `<file's stem>-<seed>`, with an ablation that was asked for in between. */
  readonly defaultName: string;
}

/** What a caller changes of an experiment's file. */
export interface LoadOptions {
  readonly seed?: number | undefined;
  readonly ablation?: Ablation | undefined;
  /** Each `path=value`. */
  readonly set: readonly string[];
}

/** All of them as overrides, in the order in which they are made. */
export function overridesOf({ seed, ablation, set }: LoadOptions): string[] {
  return [
    ...set,
    ...(ablation === undefined ? [] : [`ablation=${ablation}`]),
    ...(seed === undefined ? [] : [`seed=${seed}`]),
  ];
}

/** Reads a bundled experiment by name or a file by path. Throws SettingsError. */
export async function loadExperiment(source: string, options: LoadOptions): Promise<LoadedExperiment> {
  const file = BUNDLED.has(source) ? join(packageRoot, "experiments", `${source}.yaml`) : source;
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new SettingsError("missing-file", {
      file,
      field: "",
      line: null,
      found: error.code === "ENOENT" ? "no such file" : error.message,
      expected: `a YAML file, or one of ${[...BUNDLED].join(", ")}`,
    });
  });
  const settings = locateBenchmarks(
    applyOverrides(parseExperimentFile(text, file), overridesOf(options)),
    file,
  );
  const stem = file.slice(file.lastIndexOf("/") + 1).replace(/\.ya?ml$/, "");
  const arm = options.ablation === undefined ? stem : `${stem}-${options.ablation}`;
  return { settings, defaultName: `${arm}-${settings.seed}` };
}

export type StartResult =
  /** `resumed`: it had failed or was stopped, and runs again over everything it had on record. */
  "started" | "joined" | "resumed" | "finished";

/** What a new run of an experiment takes over from the runs before it. */
export async function steeringSoFar(db: Db, name: string): Promise<SteeringState> {
  return { ...(await steeringOnRecord(db, name)), stopping: false };
}

/** Throws SettingsError where pools are to be chosen from imported tasks and none is proven. */
async function requireImports(db: Db, settings: ExperimentSettings): Promise<void> {
  if (settingsAt(settings, 1).synthesis.pool !== "imported" || (await provenImports(db)).length > 0) return;
  throw new SettingsError("impossible-value", {
    file: "experiment",
    field: "ablation",
    line: null,
    expected: "imported tasks that are proven on this stack (tadpole import, then tadpole imports verify)",
    found: `${settings.ablation}, and none on record`,
  });
}

/**
 * Creates or joins the experiment of that name. Throws StoreError `conflict` when the name is used with other settings, SettingsError where they ask for
 * imported tasks and none is proven.
 */
export async function startExperiment(
  context: {
    readonly db: Db;
    readonly client: Client;
    readonly codeVersion: string;
    /** For benchmarks that the settings name by path. */
    readonly artifacts?: ArtifactStore;
  },
  name: string,
  asked: ExperimentSettings,
): Promise<StartResult> {
  await requireImports(context.db, asked);
  const settings = await pinBenchmarks(context.artifacts, asked);
  const { joined, experiment } = await createExperiment(context.db, {
    name,
    settings,
    codeVersion: context.codeVersion,
  });
  if (joined && experiment.status === "done") return "finished";
  // Whoever follows it must not take the end of an earlier run for the end of this one.
  try {
    if (joined) await setStatus(context.db, name, "running");
    await context.client.workflow.start<typeof runExperiment>("runExperiment", {
      workflowId: experimentId(name),
      taskQueue: QUEUES.orchestrate,
      args: [{ name, settings, ...(joined ? { steering: await steeringSoFar(context.db, name) } : {}) }],
      workflowIdReusePolicy: "ALLOW_DUPLICATE",
      workflowIdConflictPolicy: "FAIL",
      ...describeExperiment(name, settingsAt(settings, 1)),
      typedSearchAttributes: searchAttributes({ experiment: name, iteration: 0, phase: "preparation" }),
    });
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return "joined";
    // Nothing runs it, as far as can be told; one that does run all the same says so itself as it begins.
    const restored = joined
      ? setStatus(context.db, name, experiment.status as ExperimentStatus)
      : setResult(context.db, name, "failed", { error: `it could not be started: ${firstLine(error)}` });
    await restored.catch(() => {});
    throw error;
  }
  return joined ? "resumed" : "started";
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n")[0]!;
}

/** Whether Temporal runs an experiment. */
export async function isRunning(context: { readonly client: Client }, name: string): Promise<boolean> {
  return workflowRuns(context, experimentId(name)).catch((error: unknown) => {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  });
}

/** Throws Temporal's WorkflowNotFoundError for a workflow it does not know. */
export async function workflowRuns(
  { client }: { readonly client: Client },
  workflowId: string,
): Promise<boolean> {
  const { status } = await client.workflow.getHandle(workflowId).describe();
  return status.name === "RUNNING" || status.name === "CONTINUED_AS_NEW";
}

/** Why an experiment ended without a result. */
export interface Failure {
  readonly reason: string;
  /** The caller has to change something: settings, an environment, a server. */
  readonly badInput: boolean;
}

/** Of an experiment whose starter died between its record and its workflow. */
const NEVER_RAN: Failure = {
  reason:
    "it is recorded as running, but its start was cut short and nothing runs it: start it again as before (tadpole run, or tadpole replay)",
  badInput: false,
};

/** Resolves with null when the experiment is done, else with why it is not. Throws StoreError `missing`. */
export async function outcome(
  context: { readonly db: Db; readonly client: Client },
  name: string,
): Promise<Failure | null> {
  try {
    await context.client.workflow.getHandle(experimentId(name)).result();
    // What that run came to is on record before it ends; so this is of a later one.
    return (await getExperiment(context.db, name)).status === "running" ? NEVER_RAN : null;
  } catch (error) {
    if (
      error instanceof WorkflowNotFoundError &&
      (await getExperiment(context.db, name)).status === "running"
    )
      return NEVER_RAN;
    if (!(error instanceof WorkflowFailedError)) throw error;
    const { result } = await getExperiment(context.db, name);
    const recorded = (result as { error?: string } | null)?.error;
    const failure = failureOf(error);
    return { ...failure, reason: recorded ?? failure.reason };
  }
}

/** The cause at the root of a workflow's failure, or the first that says the input was bad. */
export function failureOf(error: WorkflowFailedError): Failure {
  let cause: unknown = error.cause;
  while (cause instanceof Error && cause.cause instanceof Error) {
    if (cause instanceof ApplicationFailure && cause.type === "BadInput") break;
    cause = cause.cause;
  }
  return {
    reason: cause instanceof Error ? cause.message : error.message,
    badInput: cause instanceof ApplicationFailure && cause.type === "BadInput",
  };
}
