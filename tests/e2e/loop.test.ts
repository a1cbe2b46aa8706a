import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packageRoot } from "../../infra/stack/index.ts";
import { openCli } from "../support/cli.ts";
import { scrape, total } from "../support/scrape.ts";

const experiment = join(packageRoot, "tests/support/smallest.yaml");
const undisturbed = openCli();
const disturbed = openCli();

afterAll(async () => {
  await Promise.all([undisturbed.close(), disturbed.close()]);
});

/** Waits until the first iteration of the disturbed run is in that phase or past it. */
async function phase(wanted: "climb" | "finished"): Promise<void> {
  const order = ["pool", "climb", "select", "finished"];
  for (;;) {
    const { code, stdout } = await disturbed.run(["show", "second", "--json"]);
    const status = code === 0 ? JSON.parse(stdout).iterations[1]?.status : undefined;
    if (order.indexOf(status) >= order.indexOf(wanted)) return;
    await sleep(500);
  }
}

/** SIGKILL to every process of the disturbed stack, its supervisor first, so that nothing is restarted before `run` does it. */
async function killAll(): Promise<void> {
  const { processes } = await disturbed.json("status");
  const pids = processes.flatMap(({ pid }: { pid: number | null }) => (pid === null ? [] : [pid]));
  expect(pids.length).toBe(7);
  for (const pid of pids) process.kill(pid, "SIGKILL");
}

// Two whole runs of the loop with real processes: minutes on a busy machine.
describe("the loop", { timeout: 900_000 }, () => {
  // biome-ignore lint/suspicious/noExplicitAny: JSON of the command line
  let first: any;

  it("trains a policy on tasks made for it, with everything on record", async () => {
    first = await undisturbed.json("run", experiment, "--name", "first");
    expect(first).toMatchObject({ name: "first", seed: 1, status: "done", error: null });
    expect(first.policy.sha256).toMatch(/^[0-9a-f]{64}$/);
    const [start, trained] = first.iterations;
    expect(start.iteration).toBe(0);
    expect(trained.evaluation.tasks).toBe(2);
    expect(trained.evaluation.low).toBeLessThanOrEqual(trained.evaluation.passAt1);
    expect(trained.evaluation.high).toBeGreaterThanOrEqual(trained.evaluation.passAt1);
    expect(trained.pool.admitted).toBe(2);
    expect(first.rollouts).toBeGreaterThanOrEqual(2 * 4 * 3);
    expect(trained.policy.sha256).not.toBe(start.policy.sha256);
    const { items: policies } = await undisturbed.json("policy", "list");
    expect(policies.map((policy: { id: string }) => policy.id)).toEqual(
      expect.arrayContaining([start.policy.id, trained.policy.id]),
    );
  });

  it("knows what it cost, to the last token", async () => {
    const { total, perAdmitted, perUpdate } = await undisturbed.json("cost", "first");
    expect(total).toMatchObject({ uncountedRollouts: 0, openRequests: 0, usd: 0 });
    expect(total.rollouts).toBeGreaterThanOrEqual(first.rollouts);
    expect(total.tokens.toolCalls).toBeGreaterThan(0);
    expect(total.sandboxSeconds).toBeGreaterThan(0);
    expect([perAdmitted.count, perUpdate.count > 0]).toEqual([2, true]);
  });

  it("leaves its counts where Prometheus finds them", async () => {
    const { processes } = await undisturbed.json("status");
    const metrics = async (name: string) =>
      scrape(processes.find((process: { name: string }) => process.name === name).metricsUrl);
    const sandbox = await metrics("sandbox");
    const rollouts = total(sandbox, "tadpole_rollouts_total")!;
    const attempts = { activity: "rollout", outcome: "Completed" };
    expect(rollouts).toBe(total(sandbox, "tadpole_activity_attempts_total", attempts));
    // An attempt whose answer came too late was made again: delivered twice, on record once.
    expect(rollouts).toBeGreaterThanOrEqual(first.rollouts);
    expect(total(sandbox, "tadpole_rollouts_total", { phase: "climb" })).toBeGreaterThanOrEqual(2 * 4);
    expect(total(sandbox, "tadpole_verdicts_total", { phase: "climb" })).toBeGreaterThanOrEqual(2 * 4);
    expect(total(sandbox, "tadpole_rollout_turns_total")).toBeGreaterThanOrEqual(rollouts);
    expect(total(sandbox, "tadpole_generated_tokens_total")).toBeGreaterThanOrEqual(rollouts);
    expect(total(sandbox, "tadpole_sandbox_boot_seconds_count", { outcome: "Completed" })).toBeGreaterThan(0);
    const queued = "temporal_activity_schedule_to_start_latency_seconds_count";
    expect(total(sandbox, queued, { task_queue: "tadpole-sandbox" })).toBeGreaterThanOrEqual(rollouts);
    const gpu = await metrics("gpu");
    expect(total(gpu, "tadpole_update_seconds_count", { outcome: "Completed" })).toBeGreaterThan(0);
    expect(total(gpu, "tadpole_trained_tokens_total")).toBeGreaterThan(0);
    const orchestrate = await metrics("orchestrate");
    expect(total(orchestrate, "tadpole_groups_total", { use: "kept" })).toBeGreaterThan(0);
    expect(total(orchestrate, "tadpole_record_up")).toBe(1);
    expect(total(await metrics("policy"), "tadpole_policy_completion_tokens_total")).toBeGreaterThan(0);
    const names = [sandbox, gpu, orchestrate].flat();
    for (const { name, labels } of names.filter((sample) => sample.name.startsWith("tadpole_")))
      for (const value of Object.values(labels)) expect(`${name} ${value}`).not.toContain("first");
  });

  it("shows its tasks and rollouts, and writes a report", async () => {
    const { run } = undisturbed;
    const shown = await run(["show", "first"]);
    expect(shown.stdout).toMatch(/0 \(untrained\)/);
    const report = join(undisturbed.dataFolder, "report.html");
    expect(await run(["report", "first", "--out", report])).toMatchObject({ code: 0 });
  });

  it("tries a task of its pool once more: recorded, the same again, and part of no result", async () => {
    const { items } = await undisturbed.json(
      "task",
      "list",
      "--experiment",
      "first",
      "--outcome",
      "admitted",
    );
    expect(items).toHaveLength(2);
    const trial = await undisturbed.json("task", "try", items[0].id, "--seed", "5");
    expect(trial).toMatchObject({ experiment: "first", policy: first.policy.id, seed: 5 });
    expect(trial.row).toMatchObject({ key: trial.rollout, task_id: items[0].id });
    expect(["passed", "failed"]).toContain(trial.row.outcome);
    expect(trial.trajectory.messages.length).toBeGreaterThan(2);
    expect(await undisturbed.json("task", "try", items[0].id, "--seed", "5")).toEqual(trial);
    const { pools } = await undisturbed.json("pool", "first");
    expect(pools).toMatchObject([{ iteration: 1, admitted: 2, updates: expect.any(Number) }]);
    expect((await undisturbed.json("show", "first")).iterations).toEqual(first.iterations);
  });

  it("is joined, not repeated, when it has finished; the same name with other settings is refused", async () => {
    expect((await undisturbed.json("run", experiment, "--name", "first")).policy).toEqual(first.policy);
    const refused = await undisturbed.run(["run", experiment, "--name", "first", "--set", "climb.updates=4"]);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("climb.updates");
  });

  describe("a replay", () => {
    // One task, and rollouts of its own for the second update.
    const less = ["synthesis.poolTasks=1", "climb.updates=2", "climb.tasksPerBatch=1"];
    const measured = ["evaluation.greedy=false", "evaluation.sets.heldout.samplesPerTask=1"];
    // biome-ignore lint/suspicious/noExplicitAny: JSON of the command line
    let original: any;
    beforeAll(async () => {
      const set = [...less, ...measured].flatMap((override) => ["--set", override]);
      original = await undisturbed.json("run", experiment, "--name", "replayed", ...set);
    }, 900_000);

    it.each(["synthesise", "filter", "rollout"])(
      "from %s comes to the same, makes that and all after it anew, and nothing before",
      async (from) => {
        const replay = ["replay", "replayed", "1", "--from", from];
        const plan = await undisturbed.json(...replay, "--dry-run");
        const sum = (of: "reused" | "redone"): number =>
          plan.pieces.reduce((total: number, pieces: Record<string, number>) => total + pieces[of]!, 0);
        const { policy, iterations, status } = await undisturbed.json(...replay, "--wait");
        expect({ policy, status }).toEqual({ policy: original.policy, status: "done" });
        expect(iterations[1]).toMatchObject({
          try: plan.try,
          evaluation: original.iterations[1].evaluation,
          pieces: { reused: sum("reused"), made: sum("redone") },
        });
        expect(sum("redone")).toBeGreaterThan(0);
        expect(sum("reused") > 0).toBe(from !== "synthesise");
        expect((await undisturbed.run(["diff", "replayed/1/1", `replayed/1/${plan.try}`])).code).toBe(0);
      },
    );
  });

  it("ends with the same policy bytes under another name, in another folder, with every process killed on the way", async () => {
    const running = disturbed.run(["run", experiment, "--name", "second", "--json"]);
    await phase("climb");
    await killAll();
    const joined = disturbed.run(["run", experiment, "--name", "second", "--json"]);
    await phase("finished");
    await killAll();
    const second = await disturbed.json("run", experiment, "--name", "second");
    expect(second.status).toBe("done");
    expect(second.policy).toEqual(first.policy);
    // Those who followed it when the stack was killed waited, or said in one line that it is gone.
    for (const { stderr } of await Promise.all([running, joined])) expect(stderr).not.toMatch(/\n\s+at /);
  });
});
