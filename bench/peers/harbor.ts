/** Harbor (PyPI): trials of its reference-solution agent on a task exported for it, with containers of an image that is there before. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type Docker from "dockerode";
import type { FileChange } from "../../core/task.ts";
import { writeFiles } from "../../services/formats/index.ts";
import { tar } from "../../services/sandbox/index.ts";
import { harborPackage } from "../../tests/support/harbor.ts";
import { type BenchContext, temporaryFolder } from "../bench.ts";

/** Null when it can be run; else what is missing. */
export function harborMissing(): string | null {
  try {
    const { python, whole } = harborPackage();
    if (!existsSync(python)) return "not installed; type: node bench/peers/install.ts";
    return whole
      ? null
      : "its command line needs Python 3.12 or later; then type: node bench/peers/install.ts";
  } catch (error) {
    return (error as Error).message;
  }
}

export interface HarborTask {
  readonly folder: string;
  readonly task: string;
}

/**
 * A task whose boxes are made of a ready image, so that no trial builds one: the exported Dockerfile, on `base` with this Node in it.
 * `files` are those of the exported task.
 */
export async function prepareHarbor(
  context: BenchContext,
  docker: Docker,
  files: readonly FileChange[],
): Promise<HarborTask> {
  const folder = await temporaryFolder(context);
  const image = `tadpole-bench:${process.pid}`;
  context.defer(() =>
    docker
      .getImage(image)
      .remove({ force: true })
      .catch(() => {}),
  );
  await build(docker, image, files);
  const task = join(folder, "task");
  await mkdir(task);
  await writeFiles(
    task,
    files.map((file) => (file.path === "task.toml" ? ofImage(file, image) : file)),
  );
  return { folder, task };
}

const ofImage = (file: FileChange, image: string): FileChange =>
  file.kind === "write"
    ? {
        ...file,
        content: file.content.replace("[environment]\n", `[environment]\ndocker_image = "${image}"\n`),
      }
    : file;

async function build(docker: Docker, image: string, files: readonly FileChange[]): Promise<void> {
  const node = {
    type: "file",
    path: "node",
    content: readFileSync(process.execPath),
    executable: true,
  } as const;
  const context = files.flatMap((file) => {
    if (file.kind !== "write" || !file.path.startsWith("environment/")) return [];
    const path = file.path.slice("environment/".length);
    const more = path === "Dockerfile" ? "COPY node /usr/local/bin/node\n" : "";
    const content = Buffer.concat([Buffer.from(file.content, file.encoding), Buffer.from(more)]);
    return [{ type: "file", path, content, executable: file.executable === true } as const];
  });
  const archive = Buffer.concat([...tar([node, ...context])]);
  const stream = await docker.buildImage(archive as unknown as NodeJS.ReadableStream, { t: image });
  await new Promise<void>((resolve, reject) => {
    docker.modem.followProgress(stream, (error, steps: { error?: string }[]) => {
      const failed = error?.message ?? steps.find((step) => step.error !== undefined)?.error;
      if (failed === undefined) resolve();
      else reject(new Error(`the image of Harbor's trials: ${failed}`));
    });
  });
}

interface TrialResult {
  readonly started_at: string;
  readonly finished_at: string;
  readonly exception_info: { readonly exception_message?: string } | null;
  readonly verifier_result: { readonly rewards: Readonly<Record<string, number>> } | null;
}

/** `count` trials at once; seconds of each as Harbor itself notes them, without the start of its Python. Throws where a reward is not 1. */
export async function harborTrials({ folder, task }: HarborTask, count: number): Promise<number[]> {
  const jobs = join(folder, "jobs");
  const program = "import sys; from harbor.cli.main import app; app(sys.argv[1:])";
  const args = ["run", "-p", task, "-a", "oracle", "-n", String(count), "-k", String(count), "-o", jobs];
  const quiet = { LITELLM_LOCAL_MODEL_COST_MAP: "True", HARBOR_TELEMETRY: "0", PYTHONDONTWRITEBYTECODE: "1" };
  const env = { ...process.env, ...quiet };
  const { stdout } = await promisify(execFile)(
    harborPackage().python,
    ["-c", program, ...args, "--job-name", "bench", "--no-force-build", "-q", "-y"],
    { cwd: folder, env, maxBuffer: 2 ** 24 },
  );
  const results = readdirSync(join(jobs, "bench"))
    .map((name) => join(jobs, "bench", name, "result.json"))
    .filter((file) => existsSync(file))
    .map((file) => JSON.parse(readFileSync(file, "utf8")) as TrialResult);
  const failed = results.find(({ verifier_result }) => verifier_result?.rewards.reward !== 1);
  if (failed !== undefined || results.length !== count)
    throw new Error(
      `Harbor: ${results.length} of ${count} trials; ${JSON.stringify(failed?.exception_info ?? failed?.verifier_result)}\n${stdout.slice(-2000)}`,
    );
  await rm(jobs, { recursive: true });
  return results.map((trial) => (Date.parse(trial.finished_at) - Date.parse(trial.started_at)) / 1000);
}
