/** Evidence on a real record: what an edit voids, and what grading saved changes again tells, keeps and leaves alone. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { SandboxServices } from "../../activities/index.ts";
import type { CandidateRef, GroupInput } from "../../activities/types.ts";
import { listText, reportLines } from "../../apps/cli/commands/regrade.ts";
import { regradeAll } from "../../apps/control/regrade.ts";
import type { Reuse } from "../../core/reuse.ts";
import { parseExperimentFile } from "../../core/schemas/index.ts";
import type { FileChange, Task } from "../../core/task.ts";
import { createGrading, type GradingService, taskHash } from "../../services/grading/index.ts";
import {
  createLocalArtifacts,
  getStatement,
  listRegradeRuns,
  listRegrades,
  listRollouts,
  putJson,
} from "../../services/store/index.ts";
import {
  type ActivityBench,
  call,
  groupOf,
  makeTask,
  openActivityBench,
  recordGraded,
  sandboxActivities,
} from "./activities-services.ts";

const smallest = await readFile(new URL("../support/smallest.yaml", import.meta.url), "utf8");
const settings = parseExperimentFile(smallest, "smallest.yaml");
let bench: ActivityBench;
let services: SandboxServices;
let grading: GradingService;
let task: Task;
let candidate: CandidateRef;

beforeAll(async () => {
  bench = await openActivityBench();
  services = bench.services;
  ({ task, candidate } = await makeTask(services, "text-table"));
  grading = createGrading({ runtime: services.runtime });
}, 300_000);
afterAll(async () => {
  await grading?.close();
  await bench?.close();
});

const group = (change: Partial<GroupInput>): GroupInput => groupOf(settings, task.id, change);

const setChange = (key: string, change: readonly FileChange[]) =>
  services.db
    .updateTable("rollouts")
    .set({ change: JSON.stringify(change) })
    .where("key", "=", key)
    .execute();

/** Another task under the same id, as somebody with access to the record might put it there. */
async function replaceTask(edited: Task): Promise<void> {
  const artifact = JSON.stringify(await putJson(services.artifacts, edited, "task"));
  await services.db.updateTable("tasks").set({ artifact }).where("id", "=", task.id).execute();
}

/** Services that have loaded no task yet. */
const fresh = async (): Promise<SandboxServices> => ({
  ...services,
  artifacts: await createLocalArtifacts(join(bench.data, "artifacts")),
});

const editedByte = (changes: readonly FileChange[]): FileChange[] =>
  changes.map((change) => (change.kind === "write" ? { ...change, content: `${change.content} ` } : change));

describe("regrade", () => {
  const request = { experiment: "e", iteration: null, dryRun: false, concurrency: 2 };
  const parts = () => ({
    ...{ db: services.db, artifacts: services.artifacts, grading, codeVersion: "same" },
    environment: (key: string) => services.environments.byKey(key),
  });
  const input = () => group({ key: "e/it/1/try/1/climb/1/0", size: 3 });
  const keyOf = (member: number) => `${input().key}/${member}`;

  it("tells each verdict that changed, keeps both, and alters no reward", async () => {
    await recordGraded(services, input(), [
      { outcome: "passed" },
      { outcome: "failed" },
      { outcome: "failed" },
    ]);
    await setChange(keyOf(2), task.gold);
    const before = await listRollouts(services.db, input().key);
    expect(before.map(({ raw_reward }) => raw_reward)).toEqual([1, 0, 0]);

    const seen: number[] = [];
    const report = await regradeAll(parts(), { ...request, onProgress: ({ done }) => seen.push(done) });
    expect(seen).toEqual([1, 2, 3]);
    expect(report).toMatchObject({ experiment: "e", regrade: 1, graded: 3, lost: [] });
    expect(report.changed).toEqual([
      {
        ...{ rollout: keyOf(0), iteration: 1, task: task.id, otherTask: false },
        was: { outcome: "passed", rule: "all-passed" },
        now: { outcome: "failed", rule: "fail-to-pass-failed", offending: task.failToPass.slice(0, 20) },
      },
      {
        ...{ rollout: keyOf(2), iteration: 1, task: task.id, otherTask: false },
        was: { outcome: "failed", rule: "fail-to-pass-failed" },
        now: { outcome: "passed", rule: "all-passed", offending: [] },
      },
    ]);
    expect(await listRollouts(services.db, input().key)).toEqual(before);
    expect(await listRegrades(services.db, "e", 1)).toMatchObject([
      { rollout_key: keyOf(0), old_outcome: "passed", outcome: "failed", evidence: { task: taskHash(task) } },
      { rollout_key: keyOf(1), old_outcome: "failed", outcome: "failed" },
      { rollout_key: keyOf(2), old_outcome: "failed", outcome: "passed", offending: [] },
    ]);
  });

  it("counts on, records nothing in a dry run, and looks at one iteration where asked", async () => {
    expect((await regradeAll(parts(), { ...request, dryRun: true })).regrade).toBeNull();
    expect((await regradeAll(parts(), request)).regrade).toBe(2);
    expect(await listRegrades(services.db, "e", 3)).toEqual([]);
    expect(await regradeAll(parts(), { ...request, iteration: 2 })).toEqual({
      ...{ experiment: "e", regrade: null, total: 0, graded: 0, before: 0, changed: [], lost: [] },
    });
  });

  it("is done by one at a time", async () => {
    let second: Promise<unknown> | undefined;
    const onProgress = () => {
      second ??= expect(regradeAll(parts(), request)).rejects.toMatchObject({ kind: "conflict" });
    };
    const { regrade } = await regradeAll(parts(), { ...request, onProgress });
    await second;
    expect(second).toBeDefined();
    expect((await regradeAll(parts(), request)).regrade).toBe(regrade! + 1);
  });

  describe("that was cut half way", () => {
    const runs = async () => (await listRegradeRuns(services.db, "e")).slice(-2);
    /** After that many gradings of three. */
    async function cut(graded: number): Promise<void> {
      const script = fileURLToPath(new URL("regrade-owner.ts", import.meta.url));
      const owner = spawn(process.execPath, [script, bench.url, bench.data, "e", String(graded)], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const ended = once(owner, "exit");
      await Promise.race([once(owner.stdout, "data"), ended]);
      owner.kill("SIGKILL");
      expect((await ended)[1]).toBe("SIGKILL");
    }
    /** The server takes a moment to see that the killed process is gone. */
    const again = (codeVersion: string) =>
      vi.waitFor(() => regradeAll({ ...parts(), codeVersion }, request), { timeout: 30_000 });

    it("says so, and goes on with what is missing: every verdict once, the changed ones all told", async () => {
      const { regrade, changed } = await regradeAll(parts(), request);
      await cut(1);
      const whole = { regrade, iteration: null, total: 3, graded: 3, isComplete: true };
      const partial = { ...whole, regrade: regrade! + 1, graded: 1, isComplete: false };
      expect(await runs()).toMatchObject([whole, partial]);
      expect(
        listText(await runs())
          .split("\n")
          .slice(-2),
      ).toEqual([expect.stringMatching(/ 3 of 3$/), expect.stringMatching(/ partial: 1 of 3$/)]);
      const graded = vi.spyOn(grading, "grade");
      const report = await again("same");
      expect(report).toMatchObject({ regrade: regrade! + 1, total: 3, graded: 3, before: 1, lost: [] });
      expect(report.changed).toEqual(changed);
      expect(reportLines(report)).toContain(
        `regrade ${regrade! + 1} was cut half way after 1: it went on with the rest`,
      );
      expect(graded).toHaveBeenCalledTimes(2);
      graded.mockRestore();
      expect(await runs()).toMatchObject([whole, { ...partial, graded: 3, isComplete: true }]);
      const rows = await listRegrades(services.db, "e", regrade! + 1);
      expect(rows.map(({ rollout_key }) => rollout_key)).toEqual([keyOf(0), keyOf(1), keyOf(2)]);
      expect((await regradeAll(parts(), request)).regrade).toBe(regrade! + 2);
    });

    it("stays partial where another code, or another scope, grades", async () => {
      await cut(2);
      const [, { regrade }] = (await runs()) as [unknown, { regrade: number }];
      expect(await again("other")).toMatchObject({ regrade: regrade + 1, before: 0, graded: 3 });
      expect(await runs()).toMatchObject([
        { regrade, graded: 2, total: 3, isComplete: false },
        { regrade: regrade + 1, graded: 3, isComplete: true },
      ]);
      expect((await regradeAll(parts(), { ...request, iteration: 1 })).regrade).toBe(regrade + 2);
    });
  });

  it("says which rollouts have no verdict, and why", async () => {
    const { EnvironmentError } = await import("../../services/environments/index.ts");
    const environment = async () => {
      throw new EnvironmentError("missing", "it is not here");
    };
    const report = await regradeAll({ ...parts(), environment }, { ...request, dryRun: true });
    expect(report).toMatchObject({ graded: 0, changed: [] });
    expect(report.lost).toEqual([0, 1, 2].map((n) => ({ rollout: keyOf(n), reason: "it is not here" })));
  });
});

describe("a group that nobody solved", () => {
  it("costs no reward where the reference solution fails, too", async () => {
    const input = group({ key: "e/it/1/try/1/climb/1/1", size: 2 });
    const hopeless: GradingService = {
      ...services.grading,
      grade: async (request) => {
        const verdict = await services.grading.grade({ ...request, change: [] });
        return { ...verdict, outcome: "failed", rule: "fail-to-pass-failed", offending: ["x"] };
      },
    };
    await expect(
      recordGraded({ ...services, grading: hopeless }, input, [{ outcome: "failed" }, { outcome: "failed" }]),
    ).rejects.toMatchObject({
      type: "Infrastructure",
      message: expect.stringContaining("its own reference solution fails by fail-to-pass-failed: x"),
    });
    expect(await listRollouts(services.db, input.key)).toMatchObject([{ outcome: null }, { outcome: null }]);
  });

  it("fails where the reference solution passes", async () => {
    const input = group({ key: "e/it/1/try/1/climb/1/2", size: 2 });
    const before = bench.graded.length;
    await recordGraded(services, input, [{ outcome: "failed" }, { outcome: "failed" }]);
    expect(bench.graded.slice(before)).toHaveLength(3);
    expect(bench.graded.at(-1)).toEqual(task.gold);
    expect(await listRollouts(services.db, input.key)).toMatchObject([{ raw_reward: 0 }, { raw_reward: 0 }]);
  });
});

describe("an edited task", () => {
  const validate = (with_: SandboxServices, tryNumber: number, reuse: Reuse | null) =>
    call(sandboxActivities(with_).validate, {
      ...{ recordScope: `e/it/1/try/${tryNumber}`, candidate, stabilityRuns: 1, level: 2 },
      ...{ scope: { experiment: "e", iteration: 1, try: tryNumber }, reuse },
    });

  it("loses its validation and every verdict, whichever byte of it was edited", async () => {
    const input = group({ key: "e/it/1/try/1/climb/1/3", size: 1 });
    await recordGraded(services, input, [{ outcome: "passed" }]);
    const verify = (with_: SandboxServices) => call(sandboxActivities(with_).verify, input);
    await validate(services, 1, null);
    expect(await validate(await fresh(), 2, { from: null })).toMatchObject({
      taskId: task.id,
      rejectedBy: null,
    });
    const edits: Task[] = [
      { ...task, base: editedByte(task.base) },
      { ...task, gold: editedByte(task.gold) },
      { ...task, hiddenFiles: [...task.hiddenFiles, "x"] },
      { ...task, failToPass: task.failToPass.map((name) => `${name} `) },
      { ...task, passToPass: [...task.passToPass, "x"] },
      { ...task, verifier: { files: [], commands: [], exact: null, timeoutSeconds: 1 } },
    ];
    for (const edited of edits) {
      await replaceTask(edited);
      await expect(verify(await fresh())).rejects.toThrow(/changed after it was validated/);
      // It is not taken over; made anew, it is not what stands there.
      await expect(validate(await fresh(), 2, { from: null })).rejects.toThrow(
        /already recorded with other content/,
      );
    }
    await replaceTask(task);
    const before = bench.graded.length;
    await verify(await fresh());
    expect(bench.graded).toHaveLength(before);
  });

  it("loses its validation with its statement, too", async () => {
    await validate(services, 1, null);
    const { text } = await getStatement(services.db, task.id, 2);
    const set = (to: { text: string; hash?: string }) =>
      services.db
        .updateTable("statements")
        .set(to)
        .where("task_id", "=", task.id)
        .where("level", "=", 2)
        .execute();
    const { hash } = await getStatement(services.db, task.id, 2);
    await set({ text: `${text}.`, hash: "0".repeat(64) });
    await expect(validate(await fresh(), 2, { from: null })).rejects.toThrow(
      /already recorded with other content/,
    );
    await set({ text, hash });
    expect(await validate(await fresh(), 3, { from: null })).toMatchObject({
      taskId: task.id,
      rejectedBy: null,
    });
  });
});
