/** Every activity of the loop without its work: answers at once, with what the real one answers, as long as the real one's. */
import { createHash } from "node:crypto";
import { heartbeating } from "../activities/context.ts";
import type { Activities, CandidateRef, EnvironmentRef } from "../activities/types.ts";
import type { ArtifactRef } from "../core/artifact.ts";
import type { PolicyRef } from "../core/policy.ts";
import { fateOf, isValidForSet } from "./scale-plan.ts";

export interface RolloutCounts {
  /** Rollouts asked for since the start of the process. */
  readonly asked: number;
  /** Slots among them. */
  readonly slots: number;
}

export function scaleActivities(): { readonly activities: Activities; counts(): RolloutCounts } {
  const slots = new Set<string>();
  let asked = 0;
  const activities: Activities = {
    prepareEnvironment: async ({ name }) => environmentOf(name),
    startPolicy: async ({ seed }) => policyOf(`start ${seed}`, null, 0),
    synthesise: async ({ randomKeys, environments, from, count }) => ({
      candidates: Array.from({ length: count }, (_, i) => {
        const index = from + i;
        return candidateOf(randomKeys.join("/"), environments[index % environments.length]!, index);
      }),
      empty: [],
    }),
    noteUsed: async ({ before, keys }) => artifactOf(`${before?.sha256} ${keys.join()}`, "keys"),
    validate: async ({ recordScope, candidate }) => {
      const valid = recordScope.startsWith("set/")
        ? isValidForSet(candidate.index)
        : fateOf(candidate.index) !== "rejected";
      return valid
        ? { taskId: `t${hash(candidate.key).slice(0, 16)}`, rejectedBy: null }
        : { taskId: null, rejectedBy: "fail-to-pass" };
    },
    filter: async ({ candidate, refinement }) => {
      if (fateOf(candidate) === "admitted") return { action: "admit" };
      return refinement === 0
        ? { action: "lower-level", level: 1 }
        : { action: "drop", reason: "between-levels" };
    },
    refine: async () => ({ written: true, reason: null }),
    harden: async ({ candidate }) => ({ candidate, reason: null }),
    repair: async () => ({ candidate: null, reason: "no author writes tasks" }),
    rewrite: async ({ taskId, level, round }) => ({
      taskId: `t${hash(`${taskId} ${round}`).slice(0, 16)}`,
      level,
      reason: null,
    }),
    rollout: async ({ group, member }) => {
      const key = `${group.key}/${member}`;
      asked++;
      slots.add(hash(key).slice(0, 16));
      return { key, exit: "agent", turns: 23, generatedTokens: 6120 };
    },
    verify: async ({ key, size }) => ({
      key,
      passes: size / 2,
      size,
      meanReward: 0.5,
      zeroVariance: false,
    }),
    assemble: async ({ scope, update, groups }) => ({
      batch: artifactOf(`${scope.experiment} ${update}`, "batch"),
      kept: groups.length,
      dropped: 0,
    }),
    update: async ({ scope, parent, update }) =>
      policyOf(`${scope.experiment} ${update}`, parent.id, parent.step + 1),
    publish: async () => undefined,
    evaluate: async ({ groups }) => ({
      tasks: groups.length,
      samples: 4,
      passAt1: 0.5,
      low: 0.45,
      high: 0.55,
    }),
    findIteration: async () => null,
    findPool: () => Promise.resolve([]),
    findTaskSet: async ({ spec }) => ({ hash: hash(JSON.stringify(spec)).slice(0, 16), found: null }),
    saveTaskSet: async () => undefined,
    hold: async ({ hold }) => hold,
    release: async () => null,
    noteFailures: async () => undefined,
    noteRequest: async () => undefined,
    watch: () => heartbeating(({ signal }) => aborted(signal)),
    awaitDrained: async () => undefined,
    amend: async () => undefined,
    recordExperiment: async () => undefined,
    recordIteration: async () => undefined,
  };
  return { activities, counts: () => ({ asked, slots: slots.size }) };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function artifactOf(name: string, kind: ArtifactRef["kind"]): ArtifactRef {
  const sha256 = hash(`${kind} ${name}`);
  return { uri: `artifact:${sha256}`, sha256, bytes: 1_234_567, kind };
}

function policyOf(name: string, parent: string | null, step: number): PolicyRef {
  return {
    id: `nano-${hash(name).slice(0, 16)}`,
    checkpoint: artifactOf(name, "policy"),
    parent,
    step,
  };
}

function environmentOf(name: string): EnvironmentRef {
  return { name, key: `${name}@1.2.8-${hash(name).slice(0, 12)}` };
}

function candidateOf(source: string, environment: EnvironmentRef, index: number): CandidateRef {
  const name = `${source} ${environment.key} ${index}`;
  return {
    index,
    environment,
    generator: "mutation",
    key: hash(name).slice(0, 32),
    functions: [`${environment.name}#lib/module-${index % 40}.js#functionOf${index}`],
    artifact: artifactOf(name, "task"),
  };
}
