/** The rollout activity: accepted once, reproducible, failing without a trace of a sample, and blind to the answer. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SandboxServices } from "../../activities/index.ts";
import type { GroupInput } from "../../activities/types.ts";
import type { ArtifactRef } from "../../core/artifact.ts";
import { random } from "../../core/random.ts";
import { generatedOf, type TokenCounts } from "../../core/spend.ts";
import type { Task } from "../../core/task.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { environmentFiles } from "../../services/environments/index.ts";
import { type PolicyClient, PolicyError } from "../../services/policy/index.ts";
import { findRollout, getJson } from "../../services/store/index.ts";
import { baseText } from "../../services/synthesis/base-tree.ts";
import { goldLines } from "../../services/synthesis/leaks.ts";
import { smallestSettings as settings } from "../support/smallest.ts";
import { bash, sayCall, sayer } from "../unit/harness-policy.ts";
import {
  type ActivityBench,
  call,
  groupOf,
  makeTask,
  openActivityBench,
  POLICY,
  sandboxActivities,
} from "./activities-services.ts";

let bench: ActivityBench;
let services: SandboxServices;
let task: Task;

beforeAll(async () => {
  bench = await openActivityBench();
  services = bench.services;
  ({ task } = await makeTask(services, "text-table"));
}, 300_000);
afterAll(() => bench?.close());

const group = (change: Partial<GroupInput>): GroupInput => groupOf(settings, task.id, change);

const attempts = (slot: string) =>
  services.db
    .selectFrom("attempts")
    .select(["attempt", "status", "error"])
    .where("rollout_key", "=", slot)
    .orderBy("attempt")
    .execute();

describe("rollout", () => {
  const roll = (input: GroupInput, member: number) =>
    call(sandboxActivities(services).rollout, { group: input, member });
  const script = [bash("echo 1 > made"), "done"];
  /** What `sayer` says, with the seeds it was asked with; `fail` is thrown instead of that completion. */
  const policy = (texts: readonly string[], fail?: { readonly at: number; readonly error: Error }) => {
    const said = sayer(texts);
    const seeds: number[] = [];
    const client: PolicyClient = {
      ...said.client,
      complete: async (turn) => {
        if (seeds.length === fail?.at) throw fail.error;
        seeds.push(turn.seed);
        return said.client.complete(turn);
      },
    };
    bench.play(client);
    return seeds;
  };

  it("is accepted once: the slot's second call runs nothing", async () => {
    const input = group({ key: "rollout/once" });
    const seeds = policy(script);
    const output = await roll(input, 0);
    expect(output).toMatchObject({ key: "rollout/once/0", exit: "agent", turns: 2 });
    expect({ failure: null, ...(await roll(input, 0)) }).toEqual(output);
    expect(seeds).toHaveLength(2);
    expect(await attempts("rollout/once/0")).toEqual([{ attempt: 1, status: "accepted", error: null }]);
    const row = await findRollout(services.db, "rollout/once/0");
    expect(row).toMatchObject({ policy: POLICY.id, raw_reward: null, reward: null, truncated: false });
    expect(row!.change).toEqual([expect.objectContaining({ kind: "write", path: "made", content: "1\n" })]);
  });

  it("has its tokens counted by class, and the time of its sandbox", async () => {
    policy(script);
    await roll(group({ key: "rollout/counted" }), 0);
    const row = (await findRollout(services.db, "rollout/counted/0"))!;
    const turns = (await getJson<Trajectory>(services.artifacts, row.trajectory as ArtifactRef)).turns;
    const counted = row.tokens as TokenCounts;
    expect(generatedOf(counted)).toBe(row.generated_tokens);
    expect(counted.toolCalls).toBeGreaterThan(0);
    expect(counted.text).toBeGreaterThan(0);
    // Each prompt goes on from what the turn before it had as prompt and reply.
    expect(counted.cached).toBe(turns[0]!.promptTokens + turns[0]!.completionTokens);
    expect(counted.prompt + counted.cached).toBe(turns[0]!.promptTokens + turns[1]!.promptTokens);
    const use = await services.db
      .selectFrom("sandbox_use")
      .selectAll()
      .where("item", "=", "rollout/counted")
      .executeTakeFirstOrThrow();
    expect(use).toMatchObject({ work: "rollout", phase: "climb", task_id: row.task_id });
    expect(use.seconds).toBeGreaterThan(0);
  });

  it("draws turn t of a member from (seed, random keys, member, t), whatever the experiment is called", async () => {
    const seedsOf = async (input: GroupInput, member: number) => {
      const seeds = policy(script);
      await roll(input, member);
      return seeds;
    };
    const stream = (member: number, turn: number, seed = settings.seed) =>
      random(seed, 1, "climb", 1, 0, member, turn).seed32();
    const first = group({ key: "rollout/seeds" });
    const scope = { experiment: "another", iteration: 1, try: 3 };
    const renamed = group({ key: "another/seeds", scope });
    expect(await seedsOf(first, 0)).toEqual([stream(0, 0), stream(0, 1)]);
    expect(await seedsOf(first, 1)).toEqual([stream(1, 0), stream(1, 1)]);
    expect(await seedsOf(renamed, 1)).toEqual([stream(1, 0), stream(1, 1)]);
    expect(await seedsOf(group({ key: "rollout/seed-2", seed: 2 }), 0)).toEqual([
      stream(0, 0, 2),
      stream(0, 1, 2),
    ]);
    const keyOf = async (slot: string) => (await findRollout(services.db, slot))!.content_key;
    expect(await keyOf("another/seeds/1")).toBe(await keyOf("rollout/seeds/1"));
    expect(await keyOf("rollout/seeds/0")).not.toBe(await keyOf("rollout/seeds/1"));
    expect(await keyOf("rollout/seed-2/0")).not.toBe(await keyOf("rollout/seeds/0"));
  });

  it("keeps the turns of an attempt whose policy server fails; the next one asks for the rest and is the rollout it would have been", async () => {
    const input = group({ key: "rollout/failing" });
    policy(script, { at: 1, error: new PolicyError("unreachable", "connection refused") });
    await expect(roll(input, 0)).rejects.toMatchObject({ type: "Infrastructure", nonRetryable: false });
    expect(await findRollout(services.db, "rollout/failing/0")).toBeUndefined();
    const failed = { attempt: 1, status: "failed", error: "unreachable: connection refused" };
    expect(await attempts("rollout/failing/0")).toEqual([failed]);
    const left = services.db
      .selectFrom("ledger")
      .select("turn")
      .where("rollout_key", "=", "rollout/failing/0");
    expect(await left.execute()).toEqual([{ turn: 0 }]);
    const seeds = policy(script.slice(1));
    await roll(input, 0);
    expect(seeds).toEqual([random(settings.seed, 1, "climb", 1, 0, 0, 1).seed32()]);
    expect(await left.execute()).toEqual([]);
    expect(await attempts("rollout/failing/0")).toEqual([
      failed,
      { attempt: 2, status: "accepted", error: null },
    ]);
    policy(script);
    await roll(group({ key: "rollout/undisturbed" }), 0);
    const retried = await findRollout(services.db, "rollout/failing/0");
    const undisturbed = await findRollout(services.db, "rollout/undisturbed/0");
    expect(retried!.content_key).toBe(undisturbed!.content_key);
    expect(retried!.trajectory).toEqual(undisturbed!.trajectory);
    expect(retried!.tokens).toEqual(undisturbed!.tokens);
  });

  it("publishes the policy again on a server that does not serve it, and refuses one that cannot be trained on", async () => {
    const before = bench.published.length;
    policy(script, { at: 0, error: new PolicyError("not-served", "restarted") });
    await expect(roll(group({ key: "rollout/restarted" }), 0)).rejects.toMatchObject({
      type: "Infrastructure",
    });
    expect(bench.published.slice(before)).toEqual([POLICY.id]);
    policy(script, { at: 0, error: new PolicyError("capability", "no log-probabilities") });
    const refused = roll(group({ key: "rollout/refused" }), 0);
    await expect(refused).rejects.toMatchObject({ type: "BadInput", nonRetryable: true });
  });

  it("publishes nothing to engines, which may serve a newer version by now", async () => {
    const before = bench.published.length;
    policy(script, { at: 0, error: new PolicyError("not-served", "it serves another one") });
    const given = group({ key: "rollout/moved-on" });
    const onEngines = { ...given, policyServer: { ...given.policyServer, kind: "vllm" as const } };
    await expect(roll(onEngines, 0)).rejects.toMatchObject({ type: "Infrastructure" });
    expect(bench.published.slice(before)).toEqual([]);
  });

  it("shows the agent the broken tree without the hidden tests and without the answer", async () => {
    const environment = await services.environments.byKey(task.environment);
    const files = await environmentFiles(environment);
    const [base] = task.base;
    if (base?.kind !== "write" || base.encoding !== "utf8") throw new Error("a mutation writes a source");
    /** Lines that stand in the hidden tests alone. */
    const open = [...files].filter(([path]) => !task.hiddenFiles.includes(path)).map(([, text]) => text);
    const secret = task.hiddenFiles
      .flatMap((path) => files.get(path)!.split("\n"))
      .map((line) => line.trim())
      .filter((line) => line.length >= 8 && !open.some((text) => text.includes(line)));
    const gold = goldLines(baseText(environment.root, task.base), task.gold);
    expect(task.hiddenFiles.length).toBeGreaterThan(0);
    expect(secret.length).toBeGreaterThan(0);
    expect(gold.length).toBeGreaterThan(0);

    const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
    const places = "--exclude-dir=proc --exclude-dir=sys --exclude-dir=dev --exclude-dir=usr";
    const search = (text: string) => bash(`grep -rsF ${places} -e ${quoted(text)} / | cat`);
    policy([
      sayCall("Glob", { pattern: "**/*" }),
      bash("find . -path ./node_modules -prune -o -type f -print -exec cat {} +"),
      ...[base.path, ...task.hiddenFiles].map((path) => sayCall("Read", { file_path: path })),
      ...[...gold, ...secret, ...task.failToPass].map(search),
      search("module.exports = function"),
      "done",
    ]);
    const input = group({
      key: "rollout/hidden",
      limits: {
        ...settings.rollout.limits,
        maxTurns: 500,
        maxContextTokens: 10_000_000,
        maxTokensPerTurn: 10_000,
      },
    });
    expect(await roll(input, 0)).toMatchObject({ exit: "agent" });
    const row = await findRollout(services.db, "rollout/hidden/0");
    const { turns } = await getJson<Trajectory>(services.artifacts, row!.trajectory);
    const results = turns.flatMap((turn) => turn.results);
    const [listed, dumped, source] = results;
    expect(listed).toContain("package.json");
    expect(listed).toContain(base.path);
    expect(dumped).toContain(base.content);
    expect(source).toContain("1. ");
    expect(results.at(-1)).toContain(join("/repo", base.path));
    for (const [i, path] of task.hiddenFiles.entries())
      expect(results[3 + i]).toBe(`FileNotFoundError: [Errno 2] No such file or directory: '/repo/${path}'`);
    const searched = results.slice(3 + task.hiddenFiles.length, -1);
    expect(new Set(searched)).toEqual(new Set(["Exit code: 0\nSTDOUT:\n\nSTDERR:\n"]));
    const seen = [listed, dumped, source].join("\n");
    for (const needle of [...task.hiddenFiles, ...gold, ...secret, ...task.failToPass])
      expect(seen).not.toContain(needle);
  });
});
