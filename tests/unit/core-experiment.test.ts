/** Experiment files: the paper's defaults, and one clear message for whatever is wrong. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../core/canonical.ts";
import { evaluationMode, GREEDY, settingsAt } from "../../core/experiment.ts";
import {
  applyOverrides,
  experimentJsonSchema,
  parseExperimentFile,
  SettingsError,
} from "../../core/schemas/index.ts";

const fileText = (name: string) =>
  readFileSync(new URL(`../../experiments/${name}`, import.meta.url), "utf8");

const MINIMAL = `
policy: { kind: nano }
environments: { train: [a] }
selection: { set: { environments: [a], tasks: 4 } }
evaluation: { sets: { unseen: { environments: [b], tasks: 4 } } }
`;
const minimal = parseExperimentFile(MINIMAL, "m.yaml");

function refusal(run: () => unknown): SettingsError {
  try {
    run();
  } catch (error) {
    if (error instanceof SettingsError) return error;
    throw error;
  }
  throw new Error("expected a SettingsError");
}

describe("the mode of an evaluation that is asked for", () => {
  it("is named by temperature, samples and grading", () => {
    const sampling = { ...GREEDY, temperature: 0.6 };
    expect(evaluationMode(sampling, 4, "cold")).toBe("temperature-0.6-samples-4-cold");
    expect(evaluationMode(GREEDY, 1, "warm")).toBe("temperature-0-samples-1-warm");
  });
});

describe("defaults", () => {
  it("are the paper's numbers", () => {
    expect(minimal).toMatchObject({
      iterations: 5,
      synthesis: { poolTasks: 300 },
      filter: { enabled: true, band: { low: 0.5, high: 0.5 } },
      rollout: {
        limits: { maxContextTokens: 65536, maxTurns: 75, maxTokensPerTurn: 8192 },
        sampling: { temperature: 1, topP: 1, topK: 0, minP: 0 },
      },
      reward: { truncationFactor: 0.5, length: { fromIteration: 3 } },
      climb: { updates: 200, tasksPerBatch: 32, groupSize: 8 },
      advantage: { estimator: "group-std-population" },
      loss: { kind: "dppo-tv", threshold: 0.2 },
      optimizer: { learningRate: 1e-6, beta1: 0.9, beta2: 0.98, weightDecay: 0.1, clipNorm: 1 },
      evaluation: { sampling: { temperature: 0.6, topP: 0.95, topK: 20, minP: 0 } },
    });
  });

  it("are also what frognano.yaml spells out, but for its own environments and iteration 5", () => {
    const frognano = parseExperimentFile(fileText("frognano.yaml"), "frognano.yaml");
    const { policy, trainer, environments, selection, evaluation, overrides, climb, ...recipe } = frognano;
    expect(minimal).toMatchObject(recipe);
    const { pace, ...climbing } = climb;
    expect(minimal.climb).toMatchObject(climbing);
    expect(pace).toEqual({ ...minimal.climb.pace, kind: "async" });
    expect(policy).toMatchObject({ kind: "vllm", engines: { urls: { length: 6 }, onPublish: "continue" } });
    expect(trainer).toEqual({ ...minimal.trainer, kind: "torch", size: "4b" });
    expect(settingsAt(frognano, 4).filter.band).toEqual({ low: 0.5, high: 0.5 });
    const fifth = settingsAt(frognano, 5);
    expect(fifth.filter.band).toEqual({ low: 0, high: 0.5 });
    expect(fifth.rollout.limits).toMatchObject({
      maxContextTokens: 131072,
      maxTurns: 150,
      maxTokensPerTurn: 8192,
    });
  });

  it("have no lag at an exact pace where engines finish turns on the old weights", () => {
    const read =
      (...sets: string[]) =>
      () =>
        applyOverrides(parseExperimentFile(fileText("frognano.yaml"), "frognano.yaml"), [
          "climb.pace.kind=exact",
          "policy.engines.onPublish=finish",
          ...sets,
        ]);
    expect(read()).toThrow(/climb\.maxLag: expected 0 where climb\.pace\.kind is exact/);
    expect(read("climb.maxLag=0")).not.toThrow();
    expect(read("policy.engines.onPublish=continue")).not.toThrow();
  });

  it("are plain data: settings read from their own JSON are the same", () => {
    for (const name of ["quickstart.yaml", "frognano.yaml"]) {
      const settings = parseExperimentFile(fileText(name), name);
      expect(parseExperimentFile(canonicalJson(settings), name)).toEqual(settings);
    }
  });
});

describe("the JSON Schema for editors", () => {
  it("stands in experiments/ as the schema generates it", () => {
    expect(JSON.parse(fileText("experiment.schema.json"))).toEqual(
      JSON.parse(JSON.stringify(experimentJsonSchema())),
    );
  });

  it("describes every field, and is named on the first line of every experiment", () => {
    const undescribed: string[] = [];
    const visit = (schema: Record<string, unknown>, path: string) => {
      for (const [name, field] of Object.entries(
        (schema.properties ?? {}) as Record<string, typeof schema>,
      )) {
        if (typeof field.description !== "string") undescribed.push(`${path}${name}`);
        visit(field, `${path}${name}.`);
      }
      for (const key of ["items", "additionalProperties"])
        if (typeof schema[key] === "object") visit(schema[key] as Record<string, unknown>, `${path}*.`);
    };
    visit(experimentJsonSchema(), "");
    expect(undescribed).toEqual([]);
    for (const name of ["quickstart.yaml", "frognano.yaml"])
      expect(fileText(name).startsWith("# yaml-language-server: $schema=experiment.schema.json\n")).toBe(
        true,
      );
  });
});

describe("a bad file is refused with file, line, field and expectation", () => {
  const cases: [title: string, text: string, kind: string, message: string][] = [
    [
      "an unknown key",
      `${MINIMAL}climb:\n  tasksPerBach: 4\n`,
      "unknown-key",
      "x.yaml, line 7: climb.tasksPerBach: unknown key; expected tasksPerBatch (the nearest known key)",
    ],
    [
      "a wrong type",
      `${MINIMAL}seed: seven\n`,
      "wrong-type",
      'x.yaml, line 6: seed: expected a number, found "seven"',
    ],
    [
      "a batch of 0",
      `${MINIMAL}climb: { tasksPerBatch: 0 }\n`,
      "impossible-value",
      "x.yaml, line 6: climb.tasksPerBatch: expected a number of at least 1, found 0",
    ],
    [
      "a runtime that is not there",
      `${MINIMAL}sandbox: { runtime: podman }\n`,
      "impossible-value",
      'x.yaml, line 6: sandbox.runtime: expected one of process, docker, found "podman"',
    ],
    [
      "a fraction of a batch",
      `${MINIMAL}climb: { tasksPerBatch: 1.5 }\n`,
      "wrong-type",
      "x.yaml, line 6: climb.tasksPerBatch: expected a whole number, found 1.5",
    ],
    [
      "a band outside [0, 1]",
      `${MINIMAL}filter: { band: { low: 0.5, high: 1.5 } }\n`,
      "impossible-value",
      "x.yaml, line 6: filter.band.high: expected a number of at most 1, found 1.5",
    ],
    [
      "a band upside down",
      `${MINIMAL}filter: { band: { low: 0.6, high: 0.4 } }\n`,
      "impossible-value",
      "x.yaml, line 6: filter.band.low: expected at most filter.band.high (0.4), found 0.6",
    ],
    [
      "a band that no count of passes meets",
      `${MINIMAL}filter: { probes: 7 }\n`,
      "impossible-value",
      'x.yaml, line 6: filter.band: expected a band that holds at least one of 1..6 passes of 7 (filter.probes), found {"low":0.5,"high":0.5}',
    ],
    [
      "a lag of −1",
      `${MINIMAL}climb: { maxLag: -1 }\n`,
      "impossible-value",
      "x.yaml, line 6: climb.maxLag: expected a number of at least 0, found -1",
    ],
    [
      "a mix of nothing",
      `${MINIMAL}synthesis: { mix: { mutation: 0, combination: 0, removal: 0 } }\n`,
      "impossible-value",
      'x.yaml, line 6: synthesis.mix: expected at least one weight above 0, found {"mutation":0,"combination":0,"removal":0,"history":0,"ll...',
    ],
    [
      "levels upside down",
      `${MINIMAL}synthesis: { minLevel: 2, maxLevel: 1 }\n`,
      "impossible-value",
      "x.yaml, line 6: synthesis.minLevel: expected at most synthesis.maxLevel (1), found 2",
    ],
    [
      "probes that are no group",
      `${MINIMAL}filter: { probes: 4, probesAsGroups: true }\n`,
      "impossible-value",
      "x.yaml, line 6: filter.probes: expected climb.groupSize (8) where filter.probesAsGroups is true, found 4",
    ],
    [
      "an estimator that is none",
      `${MINIMAL}advantage: { estimator: mean }\n`,
      "impossible-value",
      'x.yaml, line 6: advantage.estimator: expected one of group-std-population, group-std-sample, no-std, leave-one-out, found "mean"',
    ],
    [
      "sampling that the trainer does not model",
      `${MINIMAL}rollout: { sampling: { topK: 20 } }\n`,
      "impossible-value",
      'x.yaml, line 6: rollout.sampling: expected temperature 1, topP 1, topK 0, minP 0 where policy.kind is nano, found {"temperature":1,"topP":1,"topK":20,"minP":0}',
    ],
    [
      "a model without a name",
      MINIMAL.replace("nano", "openai"),
      "impossible-value",
      "x.yaml, line 2: policy.model: expected a model name where policy.kind is openai, found null",
    ],
    [
      "an evaluation set of the validation set's name",
      MINIMAL.replace("unseen:", "validation:"),
      "impossible-value",
      'x.yaml, line 5: evaluation.sets.validation: expected another name: validation is the set of selection.set, found {"environments":["b"],"functions":"held-out","tasks":4,"s...',
    ],
    [
      "an override with an impossible band",
      `${MINIMAL}overrides:\n  - fromIteration: 2\n    filter: { band: { low: 0.9, high: 0.1 } }\n`,
      "impossible-value",
      "x.yaml, line 8: overrides.0.filter.band.low: expected at most overrides.0.filter.band.high (0.1), found 0.9",
    ],
    [
      "a missing field",
      "policy: { kind: nano }\n",
      "missing",
      "x.yaml: environments: expected a mapping, found nothing",
    ],
    ["an empty file", "", "wrong-type", "x.yaml: expected a mapping, found null"],
    [
      "text that is not YAML",
      "seed: 1\npolicy: [a\n",
      "syntax",
      "x.yaml, line 3: Flow sequence in block collection must be sufficiently indented and end with a ]; expected one YAML document",
    ],
    [
      "a key twice",
      "seed: 1\nseed: 2\n",
      "syntax",
      "x.yaml, line 2: Map keys must be unique; expected one YAML document",
    ],
    [
      "two documents",
      "seed: 1\n---\nseed: 2\n",
      "syntax",
      "x.yaml, line 2: a second document starts; expected one YAML document",
    ],
    [
      "data that contains itself",
      "policy: &p { kind: *p }\n",
      "syntax",
      "x.yaml: an alias refers to what contains it; expected one YAML document",
    ],
  ];

  it.each(cases)("%s", (_title, text, kind, message) => {
    const error = refusal(() => parseExperimentFile(text, "x.yaml"));
    expect({ kind: error.kind, message: error.message }).toEqual({ kind, message });
  });
});

describe("overrides on the command line", () => {
  it("set one field each, in order, and are checked as a whole", () => {
    const changed = applyOverrides(minimal, [
      "climb.updates=4",
      "climb.updates=5",
      "optimizer.learningRate=1e-3",
      "filter.band={low: 0.25, high: 0.75}",
      "reward.length.fromIteration=null",
      "evaluation.sets.more={environments: [c], tasks: 2}",
      "overrides=[{fromIteration: 2}]",
      "overrides.0.limits.maxTurns=3",
    ]);
    expect(changed.climb.updates).toBe(5);
    expect(changed.optimizer.learningRate).toBe(0.001);
    expect(changed.filter.band).toEqual({ low: 0.25, high: 0.75 });
    expect(changed.reward.length.fromIteration).toBeNull();
    expect(Object.keys(changed.evaluation.sets)).toEqual(["unseen", "more"]);
    expect(settingsAt(changed, 2).rollout.limits.maxTurns).toBe(3);
    expect(settingsAt(changed, 1).rollout.limits.maxTurns).toBe(75);
    expect(minimal.climb.updates).toBe(200);
  });

  it("may pass through a state that would be impossible alone", () => {
    expect(applyOverrides(minimal, ["filter.probes=7", "filter.band={low: 0, high: 1}"]).filter.probes).toBe(
      7,
    );
  });

  it.each([
    [
      "climb.updats=4",
      "unknown-key",
      "--set climb.updats=4: climb.updats: unknown key; expected updates (the nearest known key)",
    ],
    [
      "climb.maxLag=-1",
      "impossible-value",
      "--set climb.maxLag=-1: climb.maxLag: expected a number of at least 0, found -1",
    ],
    ["seed.x=1", "unknown-key", "--set seed.x=1: seed.x: unknown key; expected a field that exists"],
    ["seed=[1", "syntax", "--set seed=[1: seed: Flow sequence must end with a ]; expected a YAML value"],
    ["seed", "syntax", '--set seed: "seed" is no assignment; expected path=value, as in climb.updates=4'],
    [
      "__proto__.seed=1",
      "syntax",
      '--set __proto__.seed=1: "__proto__.seed=1" is no assignment; expected path=value, as in climb.updates=4',
    ],
  ])("refuse %s", (override, kind, message) => {
    const error = refusal(() => applyOverrides(minimal, [override]));
    expect({ kind: error.kind, message: error.message }).toEqual({ kind, message });
  });
});
