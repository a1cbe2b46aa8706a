/** Publication over four engines by their own routes, while turns are sampled and one of them dies at any step. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { EngineKind } from "../../core/policy.ts";
import type { Publication } from "../../core/publication.ts";
import {
  type Completion,
  type CompletionTurn,
  createDriver,
  type Engine,
  PolicyError,
} from "../../services/policy/index.ts";
import { createSglangEngine } from "../../services/policy/sglang.ts";
import { createVllmEngine } from "../../services/policy/vllm.ts";
import { type RunOutput, runPublication } from "../../services/publication/run.ts";
import {
  BASE_VERSION,
  type FakeEngine,
  loadWeights,
  type Step,
  startFakeEngine,
} from "../support/fake-engines/index.ts";
import { sampleTurn } from "../support/fake-engines/weights.ts";
import { writeModel } from "../support/model-folder.ts";

const COUNT = 4;
const LIMITS = { question: 30, drain: 30, flush: 30, load: 30, canary: 30 };
const SAMPLING = { temperature: 1, topP: 1, topK: 0, minP: 0 };
const OLD = "0000000000000001";
const NEW = "0000000000000002";

let root: string;
let fakes: FakeEngine[] = [];

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "tadpole-publication-"));
  for (const kind of ["vllm", "sglang"])
    for (const [seed, id] of [OLD, NEW].entries())
      await writeModel(join(root, `${kind}-${id}`), { seed: seed + 1 });
});
afterAll(() => rm(root, { recursive: true, force: true }));
afterEach(async () => {
  await Promise.all(fakes.map((fake) => fake.close()));
  fakes = [];
});

/** Engines, what is on record of them, and publications to them. */
async function fleetOf(kind: EngineKind, onPublish: "finish" | "continue" = "finish") {
  fakes = await Promise.all(Array.from({ length: COUNT }, () => startFakeEngine({ kind })));
  const [old, next] = [`${kind}-${OLD}`, `${kind}-${NEW}`];
  const drivers = fakes.map(({ url }) =>
    createDriver(kind, { url, apiKeyEnv: null, onPublish, limits: LIMITS }),
  );
  const proven = new Map<string, string>();
  const seen: Publication[] = [];
  let lastGood: string | null = null;
  const publish = async (target: string): Promise<RunOutput> => {
    const output = await runPublication({
      ...{ target, lastGood, pausedShare: 0.5, drivers, proven },
      folderOf: async (version) => join(root, version),
      onChange: async (publication) => {
        seen.push(publication);
        proven.clear();
        for (const { url, status, version } of publication.engines)
          if (status === "serving") proven.set(url, version!);
      },
    });
    if (output.outcome === "served") lastGood = target;
    return output;
  };
  const engines = fakes.map(({ url }) =>
    kind === "vllm" ? createVllmEngine({ url, onPublish }) : createSglangEngine({ url, onPublish }),
  );
  expect((await publish(old)).outcome).toBe("served");
  for (const fake of fakes) fake.requests.length = 0;
  return { old, next, publish, engines, drivers, proven, seen };
}

interface Sampled {
  readonly turn: CompletionTurn;
  readonly completion: Completion;
}

/** Asks the engines for turns of both versions until it is stopped; keeps those that were taken. */
function sampler(engines: readonly Engine[], policies: readonly string[]) {
  const sampled: Sampled[] = [];
  const refused = new Set<string>();
  let ending = false;
  const run = async (worker: number) => {
    for (let n = 0; !ending; n++) {
      const turn = {
        policy: policies[n % policies.length]!,
        prompt: [worker + 1, n + 1],
        maxTokens: 20,
        sampling: SAMPLING,
        seed: n,
      };
      try {
        sampled.push({ turn, completion: await engines[worker]!.complete(turn) });
      } catch (error) {
        if (!(error instanceof PolicyError)) throw error;
        refused.add(error.kind);
      }
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  };
  const running = Promise.all(engines.map((_, worker) => run(worker)));
  return {
    sampled,
    refused,
    stop: async () => {
      ending = true;
      for (const fake of fakes) fake.release();
      await running;
    },
  };
}

/** Every token is what the weights of the version that the turn names would give. */
async function expectOneVersionEach(sampled: readonly Sampled[]): Promise<void> {
  for (const { turn, completion } of sampled) {
    expect(completion.weightVersion).toBe(turn.policy);
    expect(completion.versions).toBeUndefined();
    const weights = await loadWeights(join(root, turn.policy));
    expect(completion.tokens).toEqual(sampleTurn({ ...turn, weights }).tokens);
  }
}

const DEATHS: readonly [EngineKind, Step][] = [
  ...(["pause", "flush", "name-version", "load", "resume", "version", "complete"] as const).map(
    (step): [EngineKind, Step] => ["vllm", step],
  ),
  ...(["pause", "flush", "name-version", "load", "resume", "version", "complete"] as const).map(
    (step): [EngineKind, Step] => ["sglang", step],
  ),
];

describe("publication over four engines", () => {
  it.each(DEATHS)(
    "%s: one that dies at %s is out, the others serve, no turn mixes versions",
    async (kind, step) => {
      const { old, next, publish, engines, proven } = await fleetOf(kind);
      const victim = fakes[1]!;
      victim.faults.set(step, "die");
      const turns = sampler([engines[0]!, engines[2]!, engines[3]!], [old, next]);
      const { outcome, publication } = await publish(next);
      await turns.stop();
      expect(outcome).toBe("served");
      expect(publication.engines.map(({ status }) => status)).toEqual([
        "serving",
        "out",
        "serving",
        "serving",
      ]);
      await expectOneVersionEach(turns.sampled);

      // Restarted, it serves base weights, which are nobody's: it stays out until it was given the right ones.
      victim.faults.clear();
      await victim.restart();
      expect(victim.state.version).toBe(BASE_VERSION);
      await expect(engines[1]!.complete({ ...turnOf(next) })).rejects.toMatchObject({ kind: "not-served" });
      expect(proven.has(victim.url)).toBe(false);
      const again = await publish(next);
      expect(again.publication.engines.map(({ status }) => status)).toEqual(Array(4).fill("serving"));
      for (const fake of fakes) expect(fake.state.weights).toEqual(await loadWeights(join(root, next)));
    },
  );

  it.each(["vllm", "sglang"] as const)(
    "%s: asks each engine one thing for what it serves already",
    async (kind) => {
      const { old, publish } = await fleetOf(kind);
      await publish(old);
      for (const fake of fakes)
        expect(new Set(fake.requests.map(({ step }) => step))).toEqual(new Set(["version"]));
    },
  );

  it.each(["vllm", "sglang"] as const)(
    "%s: all go back where none can load the new version",
    async (kind) => {
      const { old, next, publish } = await fleetOf(kind);
      for (const fake of fakes) fake.faults.set("load", 500, 1);
      const { outcome, publication } = await publish(next);
      expect(outcome).toBe("rolled-back");
      expect(publication.engines.map(({ version }) => version)).toEqual(Array(4).fill(old));
      for (const fake of fakes) {
        expect(fake.state).toMatchObject({ version: old, paused: null });
        expect(fake.state.weights).toEqual(await loadWeights(join(root, old)));
      }
    },
  );

  it.each(["vllm", "sglang"] as const)(
    "%s: weights without finite log-probabilities reach no second share",
    async (kind) => {
      const { old, next, publish } = await fleetOf(kind);
      for (const fake of fakes.slice(0, 2)) fake.faults.set("complete", "not-finite", 1);
      const { outcome, badWeights } = await publish(next);
      expect({ outcome, badWeights }).toEqual({ outcome: "rolled-back", badWeights: true });
      for (const fake of fakes.slice(2))
        expect(fake.requests.filter(({ step }) => step === "pause")).toEqual([]);
      for (const fake of fakes) expect(fake.state.version).toBe(old);
    },
  );

  it.each(["vllm", "sglang"] as const)(
    "%s, finish: turns in progress end on the old weights before any are loaded",
    async (kind) => {
      const { old, next, publish, engines } = await fleetOf(kind);
      fakes[0]!.hold();
      const turn = turnOf(old);
      const held = engines[0]!.complete(turn);
      await fakes[0]!.inProgress(1);
      const publishing = publish(next);
      while (!fakes[0]!.requests.some(({ step }) => step === "pause" || step === "flush"))
        await new Promise((resolve) => setTimeout(resolve, 5));
      expect(fakes[0]!.state.version).toBe(old);
      fakes[0]!.release();
      await expectOneVersionEach([{ turn, completion: await held }]);
      expect((await publishing).outcome).toBe("served");
    },
  );

  it.each(["vllm", "sglang"] as const)(
    "%s, continue: a turn in progress goes on, and names the version of its tokens",
    async (kind) => {
      const { old, next, publish, engines } = await fleetOf(kind, "continue");
      fakes[0]!.hold();
      const held = engines[0]!.complete(turnOf(old));
      await fakes[0]!.inProgress(1);
      const publishing = publish(next);
      // The canary would be held as well.
      while (!fakes[0]!.requests.some(({ step }) => step === "resume"))
        await new Promise((resolve) => setTimeout(resolve, 5));
      fakes[0]!.release();
      expect((await publishing).outcome).toBe("served");
      const { weightVersion, versions } = await held;
      expect(weightVersion).toBe(old);
      expect(versions?.map(({ version }) => version) ?? []).toContain(kind === "sglang" ? next : old);
    },
  );

  it("an engine that hangs while it loads is out after its limit", async () => {
    const { next, publish, drivers } = await fleetOf("vllm");
    const { url } = fakes[3]!;
    drivers[3] = createDriver("vllm", {
      ...{ url, apiKeyEnv: null, onPublish: "finish" },
      limits: { ...LIMITS, load: 0.2 },
    });
    fakes[3]!.faults.set("load", "hang");
    const { outcome, publication } = await publish(next);
    expect(outcome).toBe("served");
    expect(publication.engines[3]).toMatchObject({ status: "out", why: expect.stringContaining("load: ") });
    expect(fakes[3]!.state).toMatchObject({ version: "out", paused: "abort" });
  });

  it("an engine that is restarted while the others are at it is out", async () => {
    const { next, publish, seen } = await fleetOf("vllm");
    const first = fakes[0]!;
    const until = setInterval(() => {
      const done = seen.at(-1)?.engines[0];
      if (done?.status === "serving" && done.version === next && first.state.version === next) {
        clearInterval(until);
        void first.restart();
      }
    }, 1);
    const { outcome, publication } = await publish(next);
    expect(outcome).toBe("served");
    expect(publication.engines[0]).toMatchObject({ status: "out" });
  });

  it.each(["vllm", "sglang"] as const)(
    "%s: an engine that was left while it loads says to serve neither version",
    async (kind) => {
      const { old, next, drivers, engines } = await fleetOf(kind);
      fakes[1]!.faults.set("load", 500);
      await expect(drivers[1]!.load(next, join(root, next))).rejects.toMatchObject({ kind: "unreachable" });
      expect(await drivers[1]!.version()).toBe(`loading:${next}`);
      for (const policy of [old, next])
        await expect(engines[1]!.complete(turnOf(policy))).rejects.toMatchObject({ kind: "not-served" });
    },
  );

  it("refuses engines without the routes, saying what they need", async () => {
    fakes = [await startFakeEngine({ kind: "vllm", devMode: false })];
    const driver = createDriver("vllm", { url: fakes[0]!.url, apiKeyEnv: null, onPublish: "finish" });
    const refusal = { kind: "capability", message: expect.stringContaining("VLLM_SERVER_DEV_MODE=1") };
    await expect(driver.version()).rejects.toMatchObject(refusal);
    await expect(driver.pause()).rejects.toMatchObject(refusal);
  });
});

function turnOf(policy: string): CompletionTurn {
  return { policy, prompt: [5, 6], maxTokens: 20, sampling: SAMPLING, seed: 3 };
}
