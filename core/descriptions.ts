/** What a workflow is, before it has begun: its summary, one line, and its details in Markdown, for the Temporal UI. */
import type { ExperimentSettings } from "./experiment.ts";
import type { Scope } from "./scope.ts";

export interface Description {
  readonly staticSummary: string;
  readonly staticDetails: string;
}

/** Characters: the server takes 400 bytes of a summary, and a character is at most three. */
const SUMMARY_LENGTH = 120;

/** As much of a sentence as a summary takes. */
export function clipped(text: string, length = SUMMARY_LENGTH): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`;
}

/** Facts as a Markdown list; those that are null are left out. */
function facts(lines: Readonly<Record<string, string | number | null>>): string {
  return Object.entries(lines)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `- **${name}**: ${value}`)
    .join("\n");
}

function describe(summary: string, lines: Readonly<Record<string, string | number | null>>): Description {
  return { staticSummary: clipped(summary), staticDetails: facts(lines) };
}

const again = (scope: Scope): string => (scope.try === 1 ? "" : `, try ${scope.try}`);
const code = (text: string): string => `\`${text}\``;
const list = (names: readonly string[]): string => names.map(code).join(", ");

/** The recipe in figures, as far as a pool and a climb are made by it. */
function recipe(settings: ExperimentSettings): Readonly<Record<string, string | number>> {
  const { synthesis, filter, climb, rollout, optimizer } = settings;
  return {
    pool: `${synthesis.poolTasks} tasks of at most ${synthesis.maxCandidates} candidates`,
    filter: filter.enabled
      ? `pass rate from ${filter.band.low} to ${filter.band.high} in ${filter.probes} probes, refined at most ${filter.maxRefinements} ×`
      : "off",
    climb: `${climb.updates} updates of ${climb.tasksPerBatch} × ${climb.groupSize} rollouts, lag at most ${climb.maxLag}`,
    rollout: `${rollout.limits.maxTurns} turns, ${rollout.limits.maxContextTokens} tokens of context`,
    "learning rate": optimizer.learningRate,
  };
}

/** `origin`: what started it, when that is not a person's run. */
export function describeExperiment(
  name: string,
  settings: ExperimentSettings,
  origin: string | null = null,
): Description {
  const { iterations, seed, environments, evaluation } = settings;
  return describe(
    `${origin === null ? "" : `${origin}: `}${iterations} iterations of ${settings.climb.updates} updates, seed ${seed}`,
    {
      experiment: code(name),
      "started by": origin,
      "trains in": list(environments.train),
      "measured on": list(Object.keys(evaluation.sets)),
      ...recipe(settings),
    },
  );
}

export function describeIteration(scope: Scope, settings: ExperimentSettings, policy: string): Description {
  return describe(`iteration ${scope.iteration}${again(scope)}: pool, climb and selection from ${policy}`, {
    iteration: `${scope.iteration} of ${settings.iterations}${again(scope)}`,
    "start policy": code(policy),
    ...recipe(settings),
  });
}

export function describePool(
  settings: ExperimentSettings,
  environments: readonly string[],
  policy: string,
): Description {
  const { pool, filter } = recipe(settings);
  return describe(`synthesise and calibrate ${settings.synthesis.poolTasks} tasks against ${policy}`, {
    environments: list(environments),
    policy: code(policy),
    pool: pool!,
    filter: filter!,
    "at once": `${settings.concurrency.calibrations} candidates`,
  });
}

export interface CandidateFacts {
  readonly index: number;
  readonly generator: string;
  readonly environment: { readonly name: string };
  readonly key: string;
  readonly functions: readonly string[];
}

export function describeCandidate(candidate: CandidateFacts, policy: string): Description {
  const { index, generator, environment, functions } = candidate;
  return describe(
    `candidate ${index}: a ${generator} in ${environment.name} of ${functions.map((name) => name.split("#").findLast((part) => part !== "")).join(", ")}`,
    {
      environment: code(environment.name),
      generator,
      functions: list(functions),
      "candidate key": code(candidate.key),
      "calibrated against": code(policy),
    },
  );
}

export function describeClimb(settings: ExperimentSettings, tasks: number, policy: string): Description {
  const { climb, rollout, "learning rate": learningRate } = recipe(settings);
  return describe(`climb from ${policy}: ${settings.climb.updates} updates on ${tasks} tasks`, {
    "start policy": code(policy),
    tasks,
    climb: climb!,
    rollout: rollout!,
    "learning rate": learningRate!,
  });
}

export interface GroupFacts {
  readonly key: string;
  readonly taskId: string;
  readonly level: number;
  readonly size: number;
  readonly policy: { readonly id: string };
}

/** `update`: that it is for; null where it is asked for by hand. */
export function describeGroup(group: GroupFacts, update: number | null): Description {
  const purpose = update === null ? "asked for" : `for update ${update}`;
  return describe(`${group.size} rollouts of ${group.taskId} ${purpose}, by ${group.policy.id}`, {
    group: code(group.key),
    task: `${code(group.taskId)}, statement of level ${group.level}`,
    policy: code(group.policy.id),
  });
}

export interface EvaluationFacts {
  readonly set: { readonly name: string; readonly hash: string; readonly tasks: readonly string[] };
  readonly mode: string;
  readonly policy: { readonly id: string };
  readonly samples: number;
}

/** `purpose`: what it is measured for. */
export function describeEvaluation(
  { set, mode, policy, samples }: EvaluationFacts,
  purpose: string,
): Description {
  return describe(`${purpose}: ${policy.id} on ${set.name}, ${mode}`, {
    policy: code(policy.id),
    "task set": `${code(set.name)} (${set.hash}), ${set.tasks.length} tasks`,
    mode,
    "samples per task": samples,
  });
}

export interface TaskSetFacts {
  readonly environments: readonly { readonly name: string }[];
  readonly functions: string;
  readonly tasks: number;
  readonly seed: number;
  readonly level: number;
}

export function describeTaskSet(name: string, spec: TaskSetFacts): Description {
  return describe(`prepare the task set ${name}: ${spec.tasks} tasks`, {
    environments: list(spec.environments.map((environment) => environment.name)),
    functions: spec.functions,
    seed: spec.seed,
    "statement level": spec.level,
  });
}

export function describeScheduled(schedule: string, what: string, until: string | null): Description {
  return describe(`${schedule}: ${what}`, { schedule: code(schedule), does: what, "ends once": until });
}
