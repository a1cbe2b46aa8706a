/** An environment that breaks while it is used: named by whoever meets it, never a verdict, and prepared anew by the next preparation. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { listRollouts } from "../../services/store/index.ts";
import {
  type ActivityBench,
  call,
  groupOf,
  makeTask,
  openActivityBench,
  recordRollouts,
  sandboxActivities,
} from "./activities-services.ts";
import { smallest } from "./workflows-recorder.ts";

let bench: ActivityBench;
beforeAll(async () => {
  bench = await openActivityBench();
});
afterAll(() => bench?.close());

it("gives no verdict in a damaged environment, and grades again once it is prepared anew", async () => {
  const { services } = bench;
  const { environment, task } = await makeTask(services, "text-table");
  const activities = sandboxActivities(services);
  const group = groupOf(smallest, task.id, {});
  await recordRollouts(services, group, [{ outcome: "passed" }, { outcome: "failed" }]);
  const { modules } = await services.environments.byKey(environment.key);
  await writeFile(join(modules, "tape/index.js"), 'throw new Error("gone");\n');
  await expect(call(activities.verify, group)).rejects.toMatchObject({
    type: "BadInput",
    message: expect.stringMatching(
      /^environment .*text-table.* is damaged: modules is not what was prepared/,
    ),
  });
  const outcomes = async () => (await listRollouts(services.db, group.key)).map((row) => row.outcome);
  expect((await outcomes())[1]).toBeNull();
  await call(activities.prepareEnvironment, { name: "text-table", repeats: 1 });
  expect(await call(activities.verify, group)).toMatchObject({ passes: 1, size: 2 });
  expect(await outcomes()).toEqual(["passed", "failed"]);
});
