/** The infrastructure budget: of slots, of verdicts and of validations, on a real record. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SandboxServices } from "../../activities/index.ts";
import type { CandidateRef, GroupInput } from "../../activities/types.ts";
import { withSetting } from "../../core/steering.ts";
import { type PolicyClient, PolicyError } from "../../services/policy/index.ts";
import {
  createExperiment,
  findGroup,
  findRollout,
  holdExperiment,
  openAttempt,
  readHold,
  recordAmendments,
  releaseExperiment,
} from "../../services/store/index.ts";
import { SynthesisError } from "../../services/synthesis/index.ts";
import { smallestSettings } from "../support/smallest.ts";
import { turnTeller } from "../support/turn-teller.ts";
import { bash } from "../unit/harness-policy.ts";
import {
  type ActivityBench,
  call,
  groupOf,
  makeTask,
  openActivityBench,
  POLICY,
  recordRollouts,
  sandboxActivities,
} from "./activities-services.ts";

const settings = withSetting(smallestSettings, "limits.infrastructureRetries", 1);
let bench: ActivityBench;
let services: SandboxServices;
let taskId: string;
let candidate: CandidateRef;

beforeAll(async () => {
  bench = await openActivityBench();
  services = bench.services;
  const made = await makeTask(services, "text-table");
  taskId = made.task.id;
  candidate = made.candidate;
}, 300_000);
afterAll(() => bench?.close());

/** An experiment on record, which allows one failure of a kind, and a group of it. */
async function group(experiment: string): Promise<GroupInput> {
  await createExperiment(services.db, { name: experiment, settings, codeVersion: "test" });
  return groupOf(settings, taskId, {
    key: `${experiment}/group`,
    scope: { experiment, iteration: 1, try: 1 },
    limits: { ...settings.rollout.limits, maxTokensPerTurn: 1000 },
    size: 1,
  });
}
const nameOf = (input: GroupInput) => input.scope.experiment;
const rollout = (input: GroupInput) =>
  call(sandboxActivities(services).rollout, { group: input, member: 0 }, nameOf(input));
const release = (input: GroupInput, request: string) =>
  releaseExperiment(services.db, { experiment: nameOf(input), request });
const holdOf = async (input: GroupInput) => (await readHold(services.db, nameOf(input)))!;
const attempts = (key: string) =>
  services.db
    .selectFrom("attempts")
    .select(["status", "kind", "epoch"])
    .where("rollout_key", "=", key)
    .orderBy("attempt")
    .execute();

const down = new PolicyError("unreachable", "connection refused");
const held = { type: "Held", nonRetryable: false };
const infrastructure = { type: "Infrastructure", nonRetryable: false };

/** A policy whose server is down, after what it does first. */
function failing(before: () => Promise<unknown> = async () => {}): PolicyClient {
  return {
    capabilities: () => Promise.reject(down),
    complete: async () => {
      await before();
      throw down;
    },
  };
}
const working = (input: GroupInput) =>
  turnTeller({ group: input, member: 0 }, [bash("echo 1 > made"), "done"]).client;

describe("the budget of a slot", () => {
  it("once spent holds the experiment: nothing is scored, and a resume gives a fresh one", async () => {
    const input = await group("spent");
    bench.play(failing());
    await expect(rollout(input)).rejects.toMatchObject(infrastructure);
    expect((await holdOf(input)).hold).toBeNull();
    await expect(rollout(input)).rejects.toMatchObject(held);
    const reason = "spent/group/0 failed 2 times: unreachable: connection refused";
    expect(await holdOf(input)).toEqual({ hold: { kind: "Infrastructure", reason }, epoch: 0 });
    // While it is held no attempt is opened.
    await expect(rollout(input)).rejects.toMatchObject(held);
    const failed = { status: "failed", kind: "Infrastructure", epoch: 0 };
    expect(await attempts("spent/group/0")).toEqual([failed, failed]);
    expect(await findRollout(services.db, "spent/group/0")).toBeUndefined();

    await release(input, "r1");
    await expect(rollout(input)).rejects.toMatchObject(infrastructure);
    bench.play(working(input));
    await rollout(input);
    expect(await attempts("spent/group/0")).toEqual([
      ...[failed, failed, { ...failed, epoch: 1 }],
      { status: "accepted", kind: null, epoch: 1 },
    ]);
    expect(await findRollout(services.db, "spent/group/0")).toMatchObject({
      exit: "agent",
      raw_reward: null,
    });
  });

  it("is the amended one from the next failure on, of slots and of every other activity", async () => {
    const input = await group("amended");
    bench.play(failing());
    await expect(rollout(input)).rejects.toMatchObject(infrastructure);
    const path = "limits.infrastructureRetries";
    const amend = { request: "a1", path, value: 2, old: 1, fromIteration: 1 };
    await recordAmendments(services.db, "amended", [amend]);
    await expect(rollout(input)).rejects.toMatchObject(infrastructure);
    const lower = { ...amend, request: "a2", value: 0, old: 2 };
    await recordAmendments(services.db, "amended", [amend, lower]);
    const validate = () => Promise.reject(new SynthesisError("infrastructure", "no room"));
    const broken = { ...services, synthesis: { ...services.synthesis, validate } };
    const validation = call(
      sandboxActivities(broken).validate,
      { recordScope: "amended/it/1/try/1", candidate, stabilityRuns: 1, level: 2 as const },
      "amended",
    );
    await expect(validation).rejects.toMatchObject(held);
    await release(input, "r1");
    await expect(rollout(input)).rejects.toMatchObject(held);
  });

  it("does not pay for workers that died", async () => {
    const input = await group("deaths");
    for (let death = 0; death < 4; death++)
      await openAttempt(services.db, { rolloutKey: "deaths/group/0", experiment: "deaths", epoch: 0 });
    bench.play(failing());
    await expect(rollout(input)).rejects.toMatchObject(infrastructure);
    expect((await holdOf(input)).hold).toBeNull();
  });

  it("does not pay for an attempt that was superseded", async () => {
    const input = await group("superseded");
    const slot = { rolloutKey: "superseded/group/0", experiment: "superseded", epoch: 0 };
    bench.play(failing(() => openAttempt(services.db, slot)));
    for (let time = 0; time < 3; time++)
      await expect(rollout(input)).rejects.toMatchObject({ type: "Fenced", nonRetryable: false });
    expect((await holdOf(input)).hold).toBeNull();
    expect((await attempts(slot.rolloutKey)).some(({ status }) => status === "failed")).toBe(false);
  });

  it("of an epoch that is over holds nothing any more", async () => {
    const input = await group("over");
    bench.play(failing());
    await expect(rollout(input)).rejects.toMatchObject(infrastructure);
    bench.play(
      failing(async () => {
        await holdExperiment(services.db, "over", { kind: "user", reason: "to look" });
        await release(input, "r1");
      }),
    );
    await expect(rollout(input)).rejects.toMatchObject(infrastructure);
    expect(await holdOf(input)).toEqual({ hold: null, epoch: 1 });
  });

  it("pays for a server that does not serve the policy, which is published again, also where that fails", async () => {
    const input = await group("not-served");
    bench.play({
      capabilities: () => Promise.reject(down),
      complete: () => Promise.reject(new PolicyError("not-served", "restarted")),
    });
    const before = bench.published.length;
    await expect(rollout(input)).rejects.toMatchObject(infrastructure);
    expect(bench.published.slice(before)).toEqual([POLICY.id]);
    const publish = () => Promise.reject(down);
    const deaf = { ...services, policy: { ...services.policy, publish } };
    const again = call(sandboxActivities(deaf).rollout, { group: input, member: 0 }, "not-served");
    await expect(again).rejects.toMatchObject(held);
    expect((await holdOf(input)).hold?.reason).toContain("not-served: restarted");
  });
});

describe("a verdict's own budget", () => {
  it("holds the experiment once grading failed too often by itself, and no group is recorded before it is graded", async () => {
    const input = await group("verdict");
    await recordRollouts(services, input, [{ outcome: "passed" }]);
    let isDown = true;
    const grading: SandboxServices["grading"] = {
      ...services.grading,
      grade: async (request) => {
        const verdict = await services.grading.grade(request);
        return isDown ? { ...verdict, outcome: "infrastructure", offending: ["boot: no room"] } : verdict;
      },
    };
    const verify = () => call(sandboxActivities({ ...services, grading }).verify, input, "verdict");
    await expect(verify()).rejects.toMatchObject(infrastructure);
    await expect(verify()).rejects.toMatchObject(held);
    const reason = "verify failed 2 times: grading verdict/group/0: boot: no room";
    expect((await holdOf(input)).hold).toEqual({ kind: "Infrastructure", reason });
    expect(await findGroup(services.db, input.key)).toBeUndefined();
    expect(await findRollout(services.db, "verdict/group/0")).toMatchObject({ reward: null, outcome: null });
    await release(input, "r1");
    await expect(verify()).rejects.toMatchObject(infrastructure);
    isDown = false;
    expect(await verify()).toMatchObject({ passes: 1, size: 1 });
    // The slot's own books show none of it.
    expect(await attempts("verdict/group/0")).toMatchObject([{ status: "accepted" }]);
  });
});

describe("a validation's own budget", () => {
  it("holds the experiment once its gates failed too often by themselves, and the candidate is not rejected", async () => {
    const input = await group("gates");
    const validate = () =>
      Promise.reject(new SynthesisError("infrastructure", "grading was lost: boot: no room"));
    const broken = { ...services, synthesis: { ...services.synthesis, validate } };
    const recordScope = "gates/it/1/try/1";
    const run = (on: SandboxServices) =>
      call(
        sandboxActivities(on).validate,
        { recordScope, candidate, stabilityRuns: 1, level: 2 as const },
        "gates",
      );
    await expect(run(broken)).rejects.toMatchObject(infrastructure);
    await expect(run(broken)).rejects.toMatchObject(held);
    expect((await holdOf(input)).hold?.reason).toBe(
      "validate failed 2 times: grading was lost: boot: no room",
    );
    const recorded = services.db.selectFrom("validations").select("outcome").where("scope", "=", recordScope);
    expect(await recorded.execute()).toEqual([]);
    await release(input, "r1");
    expect(await run(services)).toMatchObject({ rejectedBy: null });
    expect(await recorded.execute()).toEqual([{ outcome: "valid" }]);
  });

  it("is not spent by a pause", async () => {
    const input = await group("paused");
    const validate: SandboxServices["synthesis"]["validate"] = (_environment, _candidate, { signal }) =>
      new Promise((_, reject) => {
        signal?.addEventListener("abort", () => reject(new SynthesisError("infrastructure", "stopped")));
        void holdExperiment(services.db, "paused", { kind: "user", reason: "to look" });
      });
    const stopped = { ...services, synthesis: { ...services.synthesis, validate } };
    const run = call(
      sandboxActivities(stopped).validate,
      { recordScope: "paused/it/1/try/1", candidate, stabilityRuns: 1, level: 2 as const },
      "paused",
    );
    await expect(run).rejects.toMatchObject(held);
    expect((await holdOf(input)).hold?.kind).toBe("user");
    const spent = services.db.selectFrom("attempts").select("kind").where("experiment", "=", "paused");
    expect(await spent.execute()).toEqual([]);
  });
});
