/** `tadpole worker gpu` for real: it serves its queue, is killed in the middle of an update, comes again, and ends when it is asked to. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestWorkflowEnvironment } from "@temporalio/testing";
import { DefaultLogger, Runtime, Worker } from "@temporalio/worker";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { UpdateInput } from "../../activities/types.ts";
import type { PolicyRef } from "../../core/policy.ts";
import { packageRoot } from "../../infra/stack/index.ts";
import { getPolicy, openDatabase } from "../../services/store/index.ts";
import { encodeBatch } from "../../services/trainers/index.ts";
import { findProcess, sessionFiles } from "../../services/trainers/process/session.ts";
import { SETTINGS } from "../contract/trainer.ts";
import { startTestPostgres, type TestPostgres } from "../support/postgres.ts";
import { startTestTemporal } from "../support/temporal.ts";
import { openTiny, TINY_COMMAND, TINY_SESSION, type Tiny } from "../support/tiny-trainer/open.ts";

const QUEUE = "tadpole-gpu:torch:tiny";

let temporal: TestWorkflowEnvironment;
let postgres: TestPostgres;
let tiny: Tiny;
let session: string;
beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger("ERROR"), shutdownSignals: [] });
  [temporal, postgres, tiny] = await Promise.all([startTestTemporal(), startTestPostgres(), openTiny()]);
  session = join(tiny.folder, "trainers/torch-tiny/session");
});
afterAll(async () => {
  const left = await findProcess(session);
  if (left !== null) process.kill(-left.launch.shell.pid, "SIGKILL");
  await Promise.all([temporal?.teardown(), postgres?.stop(), tiny?.close()]);
});

interface Started {
  readonly cli: ChildProcess;
  /** What it said once it served. */
  readonly said: Promise<{
    readonly queue: string;
    readonly pid: number;
    readonly devices: readonly string[];
  }>;
  readonly ended: Promise<{ readonly code: number | null; readonly stderr: string }>;
}

function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Started {
  const cli = spawn(process.execPath, [join(packageRoot, "bin/tadpole.mjs"), "worker", "gpu", ...args], {
    env: {
      ...process.env,
      TADPOLE_DATA: tiny.folder,
      TEMPORAL_ADDRESS: temporal.address,
      DATABASE_URL: postgres.url,
      TADPOLE_TRAINER_COMMAND: TINY_COMMAND.join(" "),
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [stdout, stderr] = ["", ""];
  cli.stderr!.on("data", (bytes) => {
    stderr += bytes;
  });
  const ended = new Promise<{ code: number | null; stderr: string }>((resolve) =>
    cli.once("close", (code) => resolve({ code, stderr })),
  );
  const said = new Promise<Awaited<Started["said"]>>((resolve, reject) => {
    cli.stdout!.on("data", (bytes) => {
      stdout += bytes;
      if (stdout.endsWith("}\n")) resolve(JSON.parse(stdout));
    });
    void ended.then(() => reject(new Error(`ended before it served: ${stderr}`)));
  });
  said.catch(() => {});
  return { cli, said, ended };
}

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  for (let tries = 0; tries < 4000; tries++) {
    if (await condition()) return;
    await sleep(25);
  }
  throw new Error("not within 100 s");
}

const updates = () => {
  try {
    return readFileSync(sessionFiles(session).log, "utf8").match(/^update /gm)?.length ?? 0;
  } catch {
    return 0;
  }
};

describe("tadpole worker gpu", () => {
  it("is killed in the middle of an update, and the next one finishes it with the same trainer; asked to end, it ends both", async () => {
    const workflows = await Worker.create({
      connection: temporal.nativeConnection,
      taskQueue: "workflows",
      workflowsPath: join(packageRoot, "tests/support/one-update.ts"),
    });
    const input: UpdateInput = {
      ...{ scope: { experiment: "gpu", iteration: 1, try: 1 }, update: 1, kept: 2, dropped: 0 },
      ...{ parent: tiny.parent, batch: await tiny.artifacts.put(encodeBatch(tiny.rows), "batch") },
      ...SETTINGS,
      trainer: { kind: "torch", ...TINY_SESSION },
    };
    const policy = await workflows.runUntil(async () => {
      const slow = { TINY_STEP_MS: "1000" };
      const first = start(["--size", "tiny", "--cpu", "--json"], slow);
      const { queue, devices, pid } = await first.said;
      expect({ queue, devices }).toEqual({ queue: QUEUE, devices: [] });
      const made: Promise<PolicyRef> = temporal.client.workflow.execute("oneUpdate", {
        ...{ taskQueue: "workflows", workflowId: "one-update", args: [QUEUE, input] },
      });
      await until(() => updates() === 1);
      process.kill(pid, "SIGKILL");
      expect((await first.ended).code).toBe(1);
      const trainer = (await findProcess(session))!;
      expect(trainer.running()).toBe(true);

      const second = start(["--size", "tiny", "--cpu", "--json"], slow);
      await second.said;
      const policy = await made;
      expect(trainer.running()).toBe(true);
      expect(updates()).toBe(1);
      second.cli.kill("SIGTERM");
      expect(await second.ended).toEqual({ code: 0, stderr: "" });
      await until(() => !trainer.running());
      return policy;
    });
    expect(policy).toMatchObject({ parent: tiny.parent.id, step: 1 });
    const db = await openDatabase(postgres.url);
    expect(await getPolicy(db, policy.id)).toMatchObject({ id: policy.id });
    await db.destroy();
  }, 300_000);

  it("refuses a machine without a device in one line, and lists none", async () => {
    const refused = start(["--json"], { PATH: "/nowhere" });
    expect(await refused.ended).toEqual({
      code: 2,
      stderr: `${JSON.stringify({
        error: {
          kind: "usage",
          message: "no NVIDIA device: nvidia-smi is not on PATH; --cpu trains on the processor",
        },
      })}\n`,
    });
    const listed = start(["--devices", "--json"], { PATH: "/nowhere" });
    expect(await listed.said).toEqual({ devices: [], problem: "nvidia-smi is not on PATH" });
  });
});
