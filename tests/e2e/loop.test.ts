import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { packageRoot } from "../../infra/stack/index.ts";
import { openCli } from "../support/cli.ts";

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

  it("shows its tasks and rollouts, and writes a report", async () => {
    const { run } = undisturbed;
    const shown = await run(["show", "first"]);
    expect(shown.stdout).toMatch(/0 \(untrained\)/);
    const report = join(undisturbed.dataFolder, "report.html");
    expect(await run(["report", "first", "--out", report])).toMatchObject({ code: 0 });
  });

  it("is joined, not repeated, when it has finished; the same name with other settings is refused", async () => {
    expect((await undisturbed.json("run", experiment, "--name", "first")).policy).toEqual(first.policy);
    const refused = await undisturbed.run(["run", experiment, "--name", "first", "--set", "climb.updates=4"]);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("climb.updates");
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
