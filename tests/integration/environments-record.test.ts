/** Environments and the record: an experiment's environments are those of its runtime, and one that an experiment names is not taken away. */
import { existsSync } from "node:fs";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exportHarbor } from "../../apps/control/export.ts";
import { checkEnvironments } from "../../apps/control/index.ts";
import {
  CATALOGUE_FOLDER,
  prepareEnvironment,
  removeEnvironment,
  runtimeFolder,
} from "../../services/environments/index.ts";
import { admittedTasks, createExperiment, experimentsUsing, putJson } from "../../services/store/index.ts";
import { openCli } from "../support/cli.ts";
import { openTestRecord, type TestRecord } from "../support/open-record.ts";
import { recordTestExperiment, testSettings, testTask } from "../support/record.ts";

let record: TestRecord;
const cli = openCli();
const data = cli.dataFolder;
const added = (name: string) => join(data, "environments", "added", name);

/** What `env add` leaves, of a package of the catalogue under another name. */
async function addByHand(name: string): Promise<void> {
  await mkdir(added(name), { recursive: true });
  for (const file of ["package.json", "package-lock.json"])
    await cp(join(CATALOGUE_FOLDER, file), join(added(name), file));
  const entry = {
    name,
    source: "npm:camelize@1.0.0",
    role: "train",
    sources: ["index.js"],
    tests: ["test/camel.js"],
    framework: "tape",
  };
  await writeFile(join(added(name), "catalogue.yaml"), JSON.stringify({ packages: [entry] }));
}

beforeAll(async () => {
  record = await openTestRecord();
}, 60_000);
afterAll(async () => {
  await record?.close();
  await cli.close();
});

describe("an added environment", () => {
  const settings = { ...testSettings(), environments: { train: ["mine"] } };
  const only = {
    ...settings,
    selection: { ...settings.selection, set: { ...settings.selection.set, environments: ["mine"] } },
    evaluation: { ...settings.evaluation, sets: {} },
  };

  it("is one that experiments may name, in its data folder and in no other", async () => {
    await addByHand("mine");
    await expect(checkEnvironments(only, "x.yaml", data)).resolves.toBeUndefined();
    await expect(checkEnvironments(only, "x.yaml", join(data, "other"))).rejects.toMatchObject({
      field: "environments.train",
      message: expect.stringContaining("found mine"),
    });
  });

  it("is not removed while an experiment of the record names it, unless forced; then its preparations go, too", async () => {
    await createExperiment(record.db, { name: "trains-on-it", settings: only, codeVersion: "0" });
    await createExperiment(record.db, {
      name: "measures-by-it",
      settings: {
        ...testSettings(),
        evaluation: {
          ...only.evaluation,
          sets: { a: { environments: ["qs", "mine"], functions: "all", tasks: 1, samplesPerTask: 1 } },
        },
      },
      codeVersion: "0",
    });
    await createExperiment(record.db, { name: "does-without", settings: testSettings(), codeVersion: "0" });
    const remove = (force: boolean) =>
      removeEnvironment({
        dataFolder: data,
        name: "mine",
        force,
        usedBy: () => experimentsUsing(record.db, "mine"),
      });
    const prepared = join(runtimeFolder(data, "docker"), "environments", "mine@1.0.0-000000000000");
    await mkdir(prepared, { recursive: true });
    await expect(remove(false)).rejects.toMatchObject({
      kind: "in-use",
      message: expect.stringContaining("measures-by-it, trains-on-it"),
    });
    expect(existsSync(prepared)).toBe(true);
    await remove(true);
    expect(existsSync(added("mine"))).toBe(false);
    expect(existsSync(prepared)).toBe(false);
  });

  it("is removed where nothing was ever on record; where something was, a stack that does not run is said", async () => {
    await addByHand("first");
    await addByHand("second");
    expect(await cli.run(["env", "remove", "first"])).toMatchObject({ code: 0, stdout: "removed first\n" });
    await mkdir(join(data, "postgres"));
    const refused = await cli.run(["env", "remove", "second"]);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/no stack runs in .*experiments on record may name it.*--force/);
    expect(existsSync(added("second"))).toBe(true);
    expect((await cli.run(["env", "remove", "second", "--force"])).code).toBe(0);
    expect(existsSync(added("second"))).toBe(false);
  }, 60_000);
});

describe("an image's environment", () => {
  it("is never shown or verified in a runtime without images", async () => {
    await mkdir(added("boxed"), { recursive: true });
    const image = { reference: `sha256:${"0".repeat(64)}`, workdir: "/srv" };
    const test = { argv: ["true"], format: "tap" };
    const entry = {
      name: "boxed",
      source: "docker:boxed",
      role: "unseen",
      sources: ["a.py"],
      tests: ["b.py"],
      framework: "command",
      image,
      test,
    };
    await writeFile(join(added("boxed"), "catalogue.yaml"), JSON.stringify({ packages: [entry] }));
    for (const what of ["show", "verify"]) {
      const { code, stderr } = await cli.run(["env", what, "boxed", "--runtime", "process"]);
      expect(stderr).toContain("--runtime process: docker:boxed runs in docker only");
      expect(code).toBe(2);
    }
  }, 60_000);
});

describe("tasks of an experiment that runs in docker", () => {
  it("are exported with the environments prepared in it", async () => {
    const { db, artifacts } = record;
    await recordTestExperiment(db, artifacts, "boxed");
    const environment = await prepareEnvironment({
      name: "minimist",
      dataFolder: runtimeFolder(data, "docker"),
      repeats: 0,
      runTests: () => Promise.reject(new Error("not run")),
    });
    for (const { taskId } of await admittedTasks(db, "boxed")) {
      const task = {
        ...testTask(Number(taskId.slice(1))),
        environment: environment.key,
        hiddenFiles: ["test/bool.js"],
      };
      const artifact = JSON.stringify(await putJson(artifacts, task, "task"));
      await db.updateTable("tasks").set({ artifact }).where("id", "=", taskId).execute();
    }
    const out = join(data, "exported");
    const request = { experiment: "boxed", out, network: "no-network" } as const;
    const session = { db, artifacts, stack: { dataFolder: data } } as Parameters<typeof exportHarbor>[0];
    await expect(exportHarbor(session, request)).rejects.toMatchObject({ kind: "missing" });
    const settings = JSON.stringify({
      ...testSettings(),
      sandbox: { ...testSettings().sandbox, runtime: "docker" },
    });
    await db.updateTable("experiments").set({ settings }).where("name", "=", "boxed").execute();
    const { exported, skipped } = await exportHarbor(session, request);
    expect(skipped).toEqual([]);
    expect(exported.length).toBeGreaterThan(0);
    expect(await readFile(join(out, exported[0]!, "task.toml"), "utf8")).toContain(exported[0]!);
  }, 120_000);
});
