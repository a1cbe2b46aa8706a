/** A connection to the daemon that breaks while a good change is graded says nothing of the change. */
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createGrading, type GradingService } from "../../services/grading/index.ts";
import { connect, connectionFrom } from "../../services/sandbox/docker/client.ts";
import { createDockerRuntime } from "../../services/sandbox/index.ts";
import { DaemonLine } from "../support/daemon-line.ts";
import { tinyEnvironment, tinyTask } from "../support/tiny-environment.ts";

const connection = connectionFrom();
const { docker } = connect(connection);
const reason = await docker.ping().then(
  () => null,
  (error: Error) => error.message,
);

describe.skipIf(reason !== null && process.env.CI !== "true")("grading over a connection that breaks", () => {
  let folder: string;
  let line: DaemonLine;
  let grading: GradingService;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "grading-lost-"));
    line = new DaemonLine(join(folder, "d.sock"), connection);
    await line.open();
    const root = join(folder, "boxes");
    grading = createGrading({
      runtime: createDockerRuntime({
        root,
        nodePath: process.execPath,
        connection: { socketPath: line.path },
      }),
    });
  });
  afterEach(async () => {
    await grading.close();
    line.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Until the tested code waits: a Node has run in one of this test's containers for a second. */
  async function untilWaits(): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      for (const path of globSync("boxes/*/container.json", { cwd: folder })) {
        const { id } = JSON.parse(readFileSync(join(folder, path), "utf8"));
        const processes = await docker
          .getContainer(id)
          .top()
          .then(
            ({ Processes }) => Processes as string[][],
            () => [],
          );
        if (!processes.some((fields) => fields.at(-1)!.startsWith("node "))) continue;
        return new Promise((resolve) => setTimeout(resolve, 1000));
      }
    }
  }

  it.each(["cold", "warm"] as const)(
    "is infrastructure (%s), and the next grading runs its tests",
    async (mode) => {
      const environment = tinyEnvironment(join(folder, "tiny"));
      const wait = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6000);";
      const slow = tinyTask.gold.map((change) =>
        change.kind === "write" ? { ...change, content: `${wait}\n${change.content}` } : change,
      );
      const request = { environment, task: tinyTask, mode, reuse: false };
      const verdict = grading.grade({ ...request, change: slow });
      await untilWaits();
      line.cut();
      expect(await verdict).toMatchObject({ outcome: "infrastructure", rule: "infrastructure" });
      // The only file of a folder is among what it writes. The tiny test tool prints its plan anew for each file of a process, so no outcome here.
      const { statuses } = await grading.grade({ ...request, change: tinyTask.gold });
      expect(statuses).toMatchObject({ "test/add.js > adds > holds#1": "passed" });
    },
  );
});
