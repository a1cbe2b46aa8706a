/** What must hold between the fields of an experiment, each being possible by itself: of its file, and of what is amended while it runs. */
import {
  ABLATED,
  ABLATIONS,
  type Ablation,
  type ExperimentSettings,
  settingsAt,
  VALIDATION_SET,
} from "./experiment.ts";
import { leastRollouts } from "./groups.ts";
import { admittedPasses } from "./learnability.ts";
import { isEngineKind } from "./policy.ts";
import { canAdmit, probePlan } from "./probing.ts";
import { type Price, SANDBOX_HOUR } from "./spend.ts";

type Path = readonly (string | number)[];

/** What a stand-in's rollout takes at least: it writes a whole solution in one turn, and ends in another. */
const STAND_IN_LIMITS = { maxTurns: 2, maxTokensPerTurn: 16_384 } as const;

export interface Inconsistency {
  readonly path: Path;
  /** What is expected of the field at `path`. */
  readonly expected: string;
}

/** All that does not fit; the settings of an iteration have no overrides left, and are checked as they are. */
export function checkSettings(settings: ExperimentSettings): Inconsistency[] {
  return [
    ...checkPolicy(settings),
    ...checkEngines(settings),
    ...checkAblation(settings),
    ...checkSynthesis(settings),
    ...checkFilter(settings, ["filter"]),
    ...checkMix(settings, ["synthesis", "mix"]),
    ...checkTypes(settings, ["synthesis", "types"]),
    ...settings.overrides.flatMap((override, index) => {
      const changed = settingsAt(settings, override.fromIteration);
      return [
        ...(override.filter?.band ? checkFilter(changed, ["overrides", index, "filter"]) : []),
        ...(override.mix ? checkMix(changed, ["overrides", index, "mix"]) : []),
        ...(override.mix || override.types
          ? checkTypes(changed, ["overrides", index, override.types ? "types" : "mix"])
          : []),
        ...(override.limits && settings.policy.kind === "stand-in"
          ? checkStandInLimits(override.limits, ["overrides", index, "limits"])
          : []),
      ];
    }),
    ...checkProbes(settings),
    ...checkRefinement(settings),
    ...checkGroups(settings),
    ...checkSets(settings),
    ...checkPrices(settings),
  ];
}

/** Settings of before there were engines have neither engines nor a trainer. */
function checkEngines({ policy, trainer, climb }: ExperimentSettings): Inconsistency[] {
  const found: Inconsistency[] = [];
  const onEngines = isEngineKind(policy.kind);
  if (onEngines && policy.engines == null)
    found.push({
      path: ["policy", "engines"],
      expected: `at least one of urls where policy.kind is ${policy.kind}`,
    });
  if (!onEngines && policy.engines != null)
    found.push({ path: ["policy", "engines"], expected: `null where policy.kind is ${policy.kind}` });
  if (onEngines && policy.model === null)
    found.push({
      path: ["policy", "model"],
      expected: `the folder of a model where policy.kind is ${policy.kind}`,
    });
  if (onEngines && policy.baseUrl !== null)
    found.push({ path: ["policy", "baseUrl"], expected: "null where policy.engines says where they are" });
  const kind = trainer?.kind ?? "nano";
  if (onEngines === (kind === "nano"))
    found.push({
      path: ["trainer", "kind"],
      expected: `${onEngines ? "torch or slime" : "nano"} where policy.kind is ${policy.kind}`,
    });
  // Groups of an older version would be in progress while its engines are given the next one.
  const oneVersionEach = onEngines && policy.engines?.onPublish === "finish" && climb.pace?.kind !== "async";
  if (oneVersionEach && climb.maxLag > 0)
    found.push({
      path: ["climb", "maxLag"],
      expected: "0 where climb.pace.kind is exact and policy.engines.onPublish is finish",
    });
  if (climb.pace?.kind === "async" && climb.pace.trajectories < climb.groupSize)
    found.push({
      path: ["climb", "pace", "trajectories"],
      expected: `at least climb.groupSize (${climb.groupSize})`,
    });
  return found;
}

function checkPolicy({ policy, climb, rollout }: ExperimentSettings): Inconsistency[] {
  const found: Inconsistency[] = [];
  if (policy.kind === "openai" && policy.model === null)
    found.push({ path: ["policy", "model"], expected: "a model name where policy.kind is openai" });
  if ((policy.kind === "stand-in") !== (policy.passRates != null))
    found.push({
      path: ["policy", "passRates"],
      expected:
        policy.kind === "stand-in"
          ? "four pass rates, of levels 0 to 3, where policy.kind is stand-in"
          : "null where policy.kind is not stand-in",
    });
  if (policy.kind === "stand-in" && climb.updates > 0)
    found.push({
      path: ["climb", "updates"],
      expected: "0 where policy.kind is stand-in: it cannot be trained",
    });
  if (policy.kind === "stand-in") found.push(...checkStandInLimits(rollout.limits, ["rollout", "limits"]));
  const { temperature, topP, topK, minP } = rollout.sampling;
  const isPlain = temperature === 1 && topP === 1 && topK === 0 && minP === 0;
  // Trainers compute p from the whole softmax; a recorded q of another distribution would bias every ratio.
  if (!isPlain && (policy.kind === "nano" || isEngineKind(policy.kind)))
    found.push({
      path: ["rollout", "sampling"],
      expected: `temperature 1, topP 1, topK 0, minP 0 where policy.kind is ${policy.kind}`,
    });
  return found;
}

/** A solution that is cut half way fails: the pass rates would no longer be those that the file says. */
function checkStandInLimits(
  limits: Partial<ExperimentSettings["rollout"]["limits"]>,
  of: Path,
): Inconsistency[] {
  return (["maxTurns", "maxTokensPerTurn"] as const).flatMap((name) => {
    const least = STAND_IN_LIMITS[name];
    return (limits[name] ?? least) >= least
      ? []
      : [
          {
            path: [...of, name],
            expected: `at least ${least} where policy.kind is stand-in: its solution would be cut`,
          },
        ];
  });
}

/** A file may spell out what its ablation means; anything else would be an experiment that is not what it is called. */
function checkAblation({ ablation, filter, sandbox, synthesis }: ExperimentSettings): Inconsistency[] {
  const meant = (ablation as Ablation | undefined) && ABLATED[ablation];
  if (meant === undefined) return [];
  const found: Inconsistency[] = [];
  const other = (fits: (of: (typeof ABLATED)[Ablation]) => boolean) =>
    ABLATIONS.find((name) => fits(ABLATED[name]))!;
  if (!filter.enabled && meant.filter)
    found.push({
      path: ["filter", "enabled"],
      expected: `true where ablation is ${ablation} (ablation: ${other((of) => !of.filter)} is without a filter)`,
    });
  if (meant.pool === "imported" && sandbox.runtime !== "docker")
    found.push({
      path: ["sandbox", "runtime"],
      expected: `docker where ablation is ${ablation}: imported tasks run in images of their own`,
    });
  if (synthesis.pool !== "fresh" && synthesis.pool !== meant.pool)
    found.push({
      path: ["synthesis", "pool"],
      expected: `${meant.pool} where ablation is ${ablation} (ablation: ${other((of) => of.pool === synthesis.pool)} is with such a pool)`,
    });
  return found;
}

function checkSynthesis({ synthesis }: ExperimentSettings): Inconsistency[] {
  const { minLevel, startLevel, maxLevel, poolTasks, maxCandidates } = synthesis;
  const found: Inconsistency[] = [];
  if (minLevel > maxLevel)
    found.push({ path: ["synthesis", "minLevel"], expected: `at most synthesis.maxLevel (${maxLevel})` });
  else if (startLevel < minLevel || startLevel > maxLevel)
    found.push({
      path: ["synthesis", "startLevel"],
      expected: `between synthesis.minLevel (${minLevel}) and synthesis.maxLevel (${maxLevel})`,
    });
  if (maxCandidates < poolTasks)
    found.push({
      path: ["synthesis", "maxCandidates"],
      expected: `at least synthesis.poolTasks (${poolTasks})`,
    });
  return found;
}

function checkFilter({ filter }: ExperimentSettings, of: Path): Inconsistency[] {
  const { band, probes } = filter;
  const path = [...of, "band"];
  if (band.low > band.high)
    return [{ path: [...path, "low"], expected: `at most ${[...path, "high"].join(".")} (${band.high})` }];
  const { min, max } = admittedPasses(probes, band);
  if (min > max)
    return [
      {
        path,
        expected: `a band that holds at least one of 1..${probes - 1} passes of ${probes} (filter.probes)`,
      },
    ];
  return canAdmit(probePlan(filter))
    ? []
    : [
        {
          path: ["filter", "stopError"],
          expected: `less, for a band of ${min}..${max} passes of ${probes}: every probe would be given up before it can admit its task`,
        },
      ];
}

function checkMix({ synthesis }: ExperimentSettings, path: Path): Inconsistency[] {
  const { mix, author } = synthesis;
  if (!Object.values(mix).some((weight) => weight > 0))
    return [{ path, expected: "at least one weight above 0" }];
  return mix.llm > 0 && author === null
    ? [
        {
          path: [...path, "llm"],
          expected: "0 where synthesis.author is null: nobody would write these tasks",
        },
      ]
    : [];
}

/** Settings of before there were types have none. */
function checkTypes({ synthesis }: ExperimentSettings, path: Path): Inconsistency[] {
  const mix: Partial<typeof synthesis.mix> = synthesis.mix;
  const types: typeof synthesis.types | undefined = synthesis.types;
  const asked = (["history", "llm"] as const).find((generator) => (mix[generator] ?? 0) > 0);
  if (asked === undefined || types === undefined || Object.values(types).some((weight) => weight > 0))
    return [];
  const expected =
    path.at(-1) === "types"
      ? `at least one weight above 0 where the mix has ${asked}`
      : `no ${asked} where every weight of synthesis.types is 0`;
  return [{ path, expected }];
}

/** What refinement needs of other settings; settings of before it lack all of them. */
function checkRefinement({ filter, synthesis }: ExperimentSettings): Inconsistency[] {
  const problems: Inconsistency[] = [];
  if (filter.refiner === "model" && synthesis.author === null)
    problems.push({
      path: ["filter", "refiner"],
      expected: "levels where synthesis.author is null: nobody would write the statements",
    });
  if (filter.failuresShown > 0 && synthesis.author === null)
    problems.push({
      path: ["filter", "failuresShown"],
      expected: "0 where synthesis.author is null: nobody would be shown them",
    });
  if (filter.hintLadder && synthesis.maxLevel === 3)
    problems.push({
      path: ["filter", "hintLadder"],
      expected: "false where synthesis.maxLevel is 3: there is no level above it to hint with",
    });
  return problems;
}

function checkProbes({ filter, climb }: ExperimentSettings): Inconsistency[] {
  return filter.enabled && filter.probesAsGroups && filter.probes !== climb.groupSize
    ? [
        {
          path: ["filter", "probes"],
          expected: `climb.groupSize (${climb.groupSize}) where filter.probesAsGroups is true`,
        },
      ]
    : [];
}

function checkGroups(settings: ExperimentSettings): Inconsistency[] {
  const { groups, groupSize, rolloutBudget } = settings.climb;
  const found: Inconsistency[] = [];
  if (groups !== undefined && groups.kind !== "fixed" && groups.maxSize < groupSize)
    found.push({
      path: ["climb", "groups", "maxSize"],
      expected: `at least climb.groupSize (${groupSize}) where climb.groups.kind is ${groups.kind}`,
    });
  const least = leastRollouts(settings);
  if (rolloutBudget != null && rolloutBudget < least)
    found.push({
      path: ["climb", "rolloutBudget"],
      expected: `at least ${least}: what a candidate's probes${settings.filter.hintLadder ? " and hints" : ""} and one update take at most`,
    });
  return found;
}

function checkSets({ evaluation }: ExperimentSettings): Inconsistency[] {
  const names = Object.keys(evaluation.sets);
  if (names.length === 0) return [{ path: ["evaluation", "sets"], expected: "at least one task set" }];
  return names.includes(VALIDATION_SET)
    ? [
        {
          path: ["evaluation", "sets", VALIDATION_SET],
          expected: `another name: ${VALIDATION_SET} is the set of selection.set`,
        },
      ]
    : [];
}

/** Experiments of earlier versions have neither budget nor prices. */
type Paying = Pick<ExperimentSettings, "policy" | "synthesis"> &
  Partial<Pick<ExperimentSettings, "budget" | "prices">>;

/** A table without the model, or a bound in dollars on what has no price, would leave out what it is there for. */
function checkPrices({ policy, synthesis, budget, prices = {} }: Paying): Inconsistency[] {
  const bounded = (budget?.usd ?? null) !== null;
  const hasTable = Object.keys(prices).some((name) => name !== SANDBOX_HOUR);
  const paid: [model: string, setting: string][] = [];
  if (synthesis.author && (bounded || hasTable))
    paid.push([synthesis.author.model, "synthesis.author.model"]);
  // The stack's own server is not paid by the token.
  if (bounded && policy.baseUrl !== null) paid.push([policy.model ?? policy.kind, "policy.model"]);
  return paid.flatMap(([model, setting]) =>
    isWhole(prices[model])
      ? []
      : [
          {
            path: ["prices", model],
            expected: `the prices of prompt and generated tokens of ${setting}${bounded ? ", as budget.usd is set" : ""}`,
          },
        ],
  );
}

const isWhole = (price: Price | undefined): boolean =>
  price?.prompt !== undefined && price.generated !== undefined;
