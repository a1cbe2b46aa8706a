/** Harbor tasks in real containers: what was exported comes back as the same task, and each Dockerfile that does not build is one error. */
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { verifyImport } from "../../apps/control/index.ts";
import type { FileChange } from "../../core/task.ts";
import { harborFolder } from "../../services/formats/harbor/export.ts";
import { readHarborTask } from "../../services/formats/harbor/import.ts";
import { buildImage, harborImporter, prepareImport, writeFiles } from "../../services/formats/index.ts";
import { createGrading } from "../../services/grading/index.ts";
import { connectDocker, createRuntime, ensureBaseImage, tar } from "../../services/sandbox/index.ts";
import { importKey, putJson, recordImport } from "../../services/store/index.ts";
import { openTestRecord } from "../support/open-record.ts";
import { tinyEnvironment, tinyStatement, tinyTask } from "../support/tiny-environment.ts";

const probe = createRuntime("docker", {
  dataFolder: join(tmpdir(), "harbor-docker"),
  nodePath: process.execPath,
});
/** Left out where no daemon answers, but not in CI. */
const reason = process.env.CI === "true" ? null : await probe.unavailable();
const inDocker = describe.skipIf(reason !== null);

const { docker } = connectDocker();
const TAG = `tadpole-test-harbor:${process.pid}`;
let folder: string;
let base: string;
const images = new Set<string>();

/** The base image with the Node that runs this. */
async function imageWithNode(): Promise<void> {
  const text = (path: string, content: string) =>
    ({ type: "file", path, content: Buffer.from(content), executable: false }) as const;
  const node = readFileSync(realpathSync(process.execPath));
  const entries = [
    text("Dockerfile", `FROM ${base}\nRUN rm -f /usr/local/bin/node\nCOPY node /usr/local/bin/node\n`),
    { type: "file", path: "node", content: node, executable: true } as const,
  ];
  const answer = await docker.buildImage(Readable.from(tar(entries)), { t: TAG, rm: true, forcerm: true });
  for await (const _ of answer);
}

beforeAll(async () => {
  if (reason !== null) return;
  folder = mkdtempSync(join(tmpdir(), "harbor-docker-"));
  base = await ensureBaseImage();
  await imageWithNode();
}, 600_000);
afterAll(async () => {
  if (reason !== null) return;
  rmSync(folder, { recursive: true, force: true });
  for (const image of [...images, TAG])
    await docker
      .getImage(image)
      .remove({ force: true })
      .catch(() => {});
});

const dockerfile = (content: string): readonly FileChange[] => [
  { kind: "write", path: "Dockerfile", content, encoding: "utf8" },
];

async function build(content: string): Promise<string> {
  const id = await buildImage(docker, { files: dockerfile(content), dockerfile: "Dockerfile" });
  images.add(id);
  return id;
}

inDocker("an exported task", () => {
  it("comes back as the same task: base tree, solution, verdicts", async () => {
    const exported = join(folder, "exported");
    const environment = tinyEnvironment(join(folder, "environment"));
    const about = { task: tinyTask, statement: tinyStatement, environment };
    await writeFiles(exported, await harborFolder({ ...about, image: TAG, network: "no-network" }));
    const dataFolder = join(folder, "data");
    const runtime = createRuntime("docker", { dataFolder, nodePath: process.execPath });
    for await (const result of harborImporter.read(exported, {})) {
      if ("error" in result) throw result.error;
      const imported = await prepareImport(result.task, { dataFolder, runtime });
      if (imported.environment.image) images.add(imported.environment.image.reference);
      const { task, statement } = imported;
      expect(statement).toMatchObject({ level: tinyStatement.level, text: tinyStatement.text });
      expect(task.type).toBe(tinyTask.type);
      expect(task.gold).toEqual(tinyTask.gold);
      expect(readFileSync(join(imported.environment.root, "index.js"), "utf8")).toContain("a - b");
      const grading = createGrading({ runtime });
      const verdict = async (change: readonly FileChange[]) => {
        const request = {
          environment: imported.environment,
          task,
          change,
          mode: "cold",
          reuse: false,
        } as const;
        const { outcome, rule } = await grading.grade(request);
        return { outcome, rule };
      };
      try {
        expect(await verdict(task.gold)).toEqual({ outcome: "passed", rule: "all-passed" });
        expect(await verdict([])).toEqual({ outcome: "failed", rule: "fail-to-pass-failed" });
      } finally {
        await grading.close();
      }
    }
    expect.assertions(6);
  }, 300_000);
});

/** A task of a shell script, in the folder; `change` is of its files. */
async function shellTask(name: string, change: Readonly<Record<string, string>> = {}): Promise<string> {
  const files = {
    "instruction.md": "Let sum.sh add.",
    "task.toml": "",
    "environment/Dockerfile": `FROM ${base}\nUSER root\nWORKDIR /app\nRUN echo 'echo $(($1 - $2))' > sum.sh\n`,
    "solution/solve.sh": "sed -i 's/ - / + /' sum.sh\n",
    "tests/test.sh": `[ "$(bash /app/sum.sh 2 3)" = 5 ]; echo $((1 - $?)) > /logs/verifier/reward.txt\n`,
    ...change,
  };
  const writes = Object.entries(files).map(
    ([path, content]) => ({ kind: "write", path, content, encoding: "utf8" }) as const,
  );
  await writeFiles(join(folder, name), writes);
  return join(folder, name);
}

inDocker("a proven task", () => {
  it("is on record whole or not at all", async () => {
    const record = await openTestRecord();
    try {
      const dataFolder = join(folder, "stack");
      const imported = await readHarborTask(await shellTask("whole"));
      const runtime = createRuntime("docker", { dataFolder, nodePath: process.execPath });
      await prepareImport(imported, { dataFolder, runtime, note: (id) => images.add(id) });
      // No import lets it in; one that was made otherwise has it all the same.
      const { file, row, line } = imported.origin;
      const unheard = { ...imported, statement: { ...imported.statement, text: "a\0b" } };
      await recordImport(record.db, {
        ...{ hash: "0".repeat(64), format: "harbor", sourceId: "whole", image: "Dockerfile", gold: true },
        ...{ failToPass: 1, passToPass: 0, origin: { file, row, line } },
        artifact: await putJson(record.artifacts, unheard, "import"),
      });
      const context = { ...record, stack: { dataFolder } };
      await expect(verifyImport(context, importKey("0".repeat(64)))).rejects.toThrow();
      for (const table of ["tasks", "statements", "environments"] as const)
        expect(await record.db.selectFrom(table).selectAll().execute()).toEqual([]);
    } finally {
      await record.close();
    }
  }, 120_000);

  it("is none where a row's image is not as its format has it: the row and the image are named", async () => {
    const { origin, environment, ...task } = await readHarborTask(await shellTask("row"));
    const row = {
      ...task,
      origin: { ...origin, format: "swe-bench", id: "a__b-1" },
      environment: { ...environment, image: { kind: "image", reference: base }, workdir: "/testbed" },
    } as const;
    const dataFolder = join(folder, "data");
    const runtime = createRuntime("docker", { dataFolder, nodePath: process.execPath });
    const refused = prepareImport(row, { dataFolder, runtime });
    await expect(refused).rejects.toThrow(`/testbed; the swe-bench row a__b-1 names the image ${base}`);
    await expect(refused).rejects.not.toThrow("--workdir");
  });
});

inDocker("a build", () => {
  it("is pinned by the image's id, and equal contexts share it", async () => {
    const text = `FROM ${base}\nRUN echo built > /built\n`;
    const id = await build(text);
    expect(id).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(await build(text)).toBe(id);
  }, 120_000);

  it.each([
    [
      "a step that fails",
      "RUN echo why && exit 7",
      /in step 2\/2, RUN echo why && exit 7: .*code: 7.* \| why$/,
    ],
    ["a file that is not there", "COPY nothing /x", /in step 2\/2, COPY nothing \/x: .*nothing/],
    ["an instruction that does not exist", "RUNN true", /unknown instruction: RUNN/i],
  ])(
    "names %s",
    async (_, line, message) => {
      await expect(build(`FROM ${base}\n${line}\n`)).rejects.toMatchObject({
        name: "BuildError",
        kind: "step",
        message: expect.stringMatching(message),
      });
    },
    120_000,
  );

  it.each([
    ["its seconds are over", 1],
    ["it is told to", undefined],
  ])(
    "that never ends is ended when %s, at the daemon, too",
    async (_, timeoutSeconds) => {
      const stop = timeoutSeconds === undefined;
      const marker = `never-${process.pid}-${stop}`;
      const text = `FROM ${base}\nUSER root\nRUN : ${marker} && sleep 600\n`;
      const controller = new AbortController();
      const steps: string[] = [];
      const options = {
        ...(timeoutSeconds !== undefined && { timeoutSeconds }),
        signal: controller.signal,
        memoryMb: 256,
        log: (line: string) => {
          steps.push(line);
          if (stop && line.includes(marker)) controller.abort(new Error("told to"));
        },
      };
      const message = stop ? /^told to$/ : /in 1 s: still in step 3\/3, RUN : never/;
      await expect(
        buildImage(docker, { files: dockerfile(text), dockerfile: "Dockerfile" }, options),
      ).rejects.toMatchObject({
        ...(!stop && { kind: "timeout" }),
        message: expect.stringMatching(message),
      });
      expect(steps.at(-1)).toMatch(/^Step 3\/3/);
      await vi.waitUntil(
        async () => !(await docker.listContainers()).some(({ Command }) => Command.includes(marker)),
        { timeout: 30_000, interval: 200 },
      );
    },
    60_000,
  );

  it("that takes longer than its task allows is bad input, named by file and field", async () => {
    const task = await shellTask("never", {
      "task.toml": "[environment]\nbuild_timeout_sec = 1\n",
      "environment/Dockerfile": `FROM ${base}\nUSER root\nRUN sleep 601\n`,
    });
    const dataFolder = join(folder, "data");
    const runtime = createRuntime("docker", { dataFolder, nodePath: process.execPath });
    const imported = await readHarborTask(task);
    await expect(prepareImport(imported, { dataFolder, runtime })).rejects.toMatchObject({
      name: "ImportError",
      kind: "size",
      file: join(task, "task.toml"),
      field: "environment.build_timeout_sec",
      expected: "an image that is built in 1 s",
    });
  }, 60_000);

  it("of steps that take more memory than they may have fails", async () => {
    const text = `FROM ${base}\nUSER root\nRUN dd if=/dev/zero of=/dev/null bs=300M count=1\n`;
    const context = { files: dockerfile(text), dockerfile: "Dockerfile" };
    const built = buildImage(docker, context, { memoryMb: 64 });
    await expect(built.then((id) => images.add(id))).rejects.toMatchObject({ kind: "step" });
  }, 60_000);

  it("is refused as a daemon's where none answers", async () => {
    const { docker: nobody } = connectDocker({ socketPath: join(folder, "no.sock") });
    await expect(
      buildImage(nobody, { files: dockerfile("FROM x"), dockerfile: "Dockerfile" }),
    ).rejects.toMatchObject({
      kind: "daemon",
    });
  });
});
