/** A fleet over engines that fall ill, come back with other weights, and are full. */
import { afterEach, describe, expect, it } from "vitest";
import type { CompletionTurn } from "../../services/policy/client.ts";
import { rank } from "../../services/policy/fleet/routing.ts";
import { createFleet, type EngineState, type FleetOptions } from "../../services/policy/fleet.ts";
import { createVllmEngine } from "../../services/policy/vllm.ts";
import { type FakeEngine, type FakeEngineOptions, startFakeEngine } from "../support/fake-engines/index.ts";

const POLICY = "vllm-1111111111111111";
const NEXT = "vllm-2222222222222222";

let fakes: FakeEngine[] = [];
afterEach(async () => {
  await Promise.all(fakes.map((fake) => fake.close()));
  fakes = [];
});

async function open(
  count: number,
  more: Partial<FleetOptions> = {},
  engine: Partial<FakeEngineOptions> = {},
) {
  fakes = await Promise.all(
    Array.from({ length: count }, () => startFakeEngine({ kind: "vllm", ...engine })),
  );
  for (const fake of fakes) fake.state.version = POLICY;
  const clock = { ms: 0 };
  const states = new Map<string, EngineState>();
  const queued: number[] = [];
  const fleet = createFleet(
    fakes.map(({ url }) => createVllmEngine({ url, timeoutSeconds: 60, questionSeconds: 60 })),
    {
      turnsInFlight: 64,
      onPublish: "finish",
      now: () => clock.ms,
      watch: { queued: (seconds) => queued.push(seconds), engine: (state) => states.set(state.url, state) },
      ...more,
    },
  );
  const ask = (affinity: string, turn: Partial<CompletionTurn> = {}) =>
    fleet.complete({
      policy: POLICY,
      prompt: [4, 5, 6],
      maxTokens: 20,
      sampling: { temperature: 1, topP: 1, topK: 0, minP: 0 },
      seed: 3,
      affinity,
      ...turn,
    });
  const turnsOf = (fake: FakeEngine) => fake.requests.filter(({ step }) => step === "complete").length;
  const bestFor = (affinity: string) =>
    fakes.find(
      ({ url }) =>
        url ===
        rank(
          affinity,
          fakes.map((one) => one.url),
        )[0],
    )!;
  return { fleet, clock, states, queued, ask, turnsOf, bestFor };
}

describe("a fleet of engines", () => {
  it("asks one engine for all turns of a conversation", async () => {
    const { ask, turnsOf, bestFor } = await open(3);
    for (let i = 0; i < 4; i++) await ask("a/0", { seed: i });
    expect(fakes.map(turnsOf).sort()).toEqual([0, 0, 4]);
    expect(turnsOf(bestFor("a/0"))).toBe(4);
  });

  it("gives the same tokens whichever engine answers", async () => {
    const { ask } = await open(3);
    const replies = await Promise.all(Array.from({ length: 9 }, (_, i) => ask(`c/${i}`)));
    expect(new Set(replies.map(({ tokens }) => JSON.stringify(tokens))).size).toBe(1);
    expect(new Set(fakes.map(({ requests }) => requests.length > 0))).toEqual(new Set([true]));
  });

  it("has no more turns on an engine than it may; others wait, and say for how long", async () => {
    const { ask, clock, states, queued, turnsOf } = await open(1, { turnsInFlight: 2 });
    const [only] = fakes as [FakeEngine];
    only.hold();
    const asked = Array.from({ length: 5 }, (_, i) => ask("a", { seed: i }));
    await only.inProgress(2);
    expect(states.get(only.url)).toMatchObject({ inFlight: 2, waiting: 3 });
    expect(turnsOf(only)).toBe(2);
    clock.ms = 1500;
    only.release();
    const replies = await Promise.all(asked);
    expect(replies.map(({ usage }) => usage.queueSeconds)).toEqual([0, 0, 1.5, 1.5, 1.5]);
    expect(queued).toEqual([0, 0, 1.5, 1.5, 1.5]);
    expect(states.get(only.url)).toMatchObject({ inFlight: 0, waiting: 0 });
  });

  it("goes on with another engine where one is away, and comes back to it", async () => {
    const { ask, clock, states, turnsOf, bestFor } = await open(3);
    const sick = bestFor("a");
    sick.faults.set("complete", 503);
    for (let i = 0; i < 6; i++) await ask("a", { seed: i });
    // It was asked until it had failed three turns in a row.
    expect(turnsOf(sick)).toBe(3);
    expect(states.get(sick.url)!.quarantine).toContain("status 503");
    sick.faults.clear();
    clock.ms = 999;
    await ask("a");
    expect(turnsOf(sick)).toBe(3);
    clock.ms = 1000;
    await ask("a");
    expect(turnsOf(sick)).toBe(4);
    expect(states.get(sick.url)!.quarantine).toBeNull();
  });

  it("leaves an engine out that came back with base weights, until it serves the right ones", async () => {
    const { ask, clock, states, turnsOf, bestFor } = await open(2);
    const restarted = bestFor("a");
    await restarted.restart();
    expect(await ask("a")).toMatchObject({ weightVersion: POLICY });
    expect(states.get(restarted.url)!.quarantine).toContain("it serves default");
    clock.ms = 1000;
    await ask("a");
    expect(states.get(restarted.url)!.quarantine).toContain("it serves default");
    restarted.state.version = POLICY;
    clock.ms = 2999;
    await ask("a");
    expect(turnsOf(restarted)).toBe(0);
    clock.ms = 3000;
    await ask("a");
    expect(turnsOf(restarted)).toBe(1);
  });

  it("does not hold a late turn of the last policy against the next one", async () => {
    const { ask, turnsOf } = await open(2);
    for (const fake of fakes) fake.state.version = NEXT;
    await expect(ask("a")).rejects.toMatchObject({ kind: "not-served" });
    expect(await ask("a", { policy: NEXT })).toMatchObject({ weightVersion: NEXT });
    expect(fakes.map(turnsOf).sort()).toEqual([0, 1]);
  });

  it("moves those who wait for an engine that falls ill", async () => {
    const { ask, turnsOf, bestFor } = await open(2, { turnsInFlight: 3 });
    const sick = bestFor("a");
    sick.hold();
    const asked = Array.from({ length: 6 }, (_, i) => ask("a", { seed: i }));
    await sick.inProgress(3);
    await sick.die();
    const replies = await Promise.all(asked);
    expect(replies.map(({ weightVersion }) => weightVersion)).toEqual(new Array(6).fill(POLICY));
    expect(turnsOf(fakes.find((fake) => fake !== sick)!)).toBe(6);
  });

  it("names all engines and what is wrong with each when none is left", async () => {
    const { ask } = await open(2);
    await fakes[0]!.die();
    await fakes[1]!.restart();
    const failed = (await ask("a").catch((error: unknown) => error)) as Error;
    expect(failed).toMatchObject({ name: "PolicyError", kind: "unreachable" });
    expect(failed.message).toContain(`no engine of policy.engines.urls can answer for ${POLICY}`);
    expect(failed.message).toMatch(new RegExp(`${fakes[0]!.url}[^;]*ECONNREFUSED`));
    expect(failed.message).toContain(`${fakes[1]!.url}: it serves default: expected ${POLICY}`);
  });

  it("tells what no other engine can mend, and asks none", async () => {
    const { ask, turnsOf, bestFor } = await open(2);
    bestFor("a").faults.set("complete", "few-logprobs", 1);
    await expect(ask("a")).rejects.toMatchObject({ kind: "protocol" });
    expect(fakes.reduce((sum, fake) => sum + turnsOf(fake), 0)).toBe(1);
  });

  it("can do what all of its engines can", async () => {
    const { fleet } = await open(2);
    expect(await fleet.capabilities()).toEqual({
      tokenIds: true,
      logProbs: true,
      weightVersion: true,
      seed: true,
    });
  });

  it("refuses engines of different models", async () => {
    const { fleet } = await open(1);
    const other = await startFakeEngine({ kind: "vllm", maxLength: 99 });
    fakes.push(other);
    const mixed = createFleet(
      fakes.map(({ url }) => createVllmEngine({ url })),
      { turnsInFlight: 1, onPublish: "finish" },
    );
    expect(await fleet.capabilities()).toMatchObject({ tokenIds: true });
    await expect(mixed.capabilities()).rejects.toMatchObject({
      kind: "capability",
      message: `policy.engines.urls: engines of different models: ${fakes[0]!.url} serves tiny of 8192 tokens, ${other.url} serves tiny of 99 tokens`,
    });
  });
});
