/** Harbor tasks in real containers: what was exported comes back as the same task, and each Dockerfile that does not build is one error. */
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FileChange } from "../../core/task.ts";
import { harborFolder } from "../../services/formats/harbor/export.ts";
import { buildImage, harborImporter, prepareImport, writeFiles } from "../../services/formats/index.ts";
import { createGrading } from "../../services/grading/index.ts";
import { connectDocker, createRuntime, ensureBaseImage, tar } from "../../services/sandbox/index.ts";
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

  it("is refused as a daemon's where none answers", async () => {
    const { docker: nobody } = connectDocker({ socketPath: join(folder, "no.sock") });
    await expect(
      buildImage(nobody, { files: dockerfile("FROM x"), dockerfile: "Dockerfile" }),
    ).rejects.toMatchObject({
      kind: "daemon",
    });
  });
});
