/** A rollout whose own commands take the memory of its container until the kernel kills it whole: the agent's end, on a real daemon and record. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SandboxServices } from "../../activities/index.ts";
import { agentOverlay } from "../../activities/tasks.ts";
import type { RolloutInput } from "../../activities/types.ts";
import type { ArtifactRef } from "../../core/artifact.ts";
import type { FileChange } from "../../core/task.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { buildImage } from "../../services/formats/index.ts";
import { createGrading } from "../../services/grading/index.ts";
import { PolicyError } from "../../services/policy/client.ts";
import {
  applyToManifest,
  connectDocker,
  createRuntime,
  encode,
  ensureBaseImage,
  hashManifest,
  type SandboxRuntime,
  scanTree,
} from "../../services/sandbox/index.ts";
import { findRollout, getJson, putJson, recordStatement, recordTask } from "../../services/store/index.ts";
import { smallestSettings as settings } from "../support/smallest.ts";
import { tinyEnvironment, tinyStatement, tinyTask } from "../support/tiny-environment.ts";
import { turnTeller } from "../support/turn-teller.ts";
import { bash } from "../unit/harness-policy.ts";
import {
  type ActivityBench,
  call,
  groupOf,
  openActivityBench,
  sandboxActivities,
} from "./activities-services.ts";

const { docker } = connectDocker();
const reason = await docker.ping().then(
  () => null,
  (error: Error) => error.message,
);

const EXPERIMENT = "hog";
/** What runs in a container starts with what process 1 has. */
const HOG = "echo 0 > /proc/self/oom_score_adj; for i in 1 2 3 4; do tail /dev/zero & done; wait";

/** Only the host may have the kernel choose process 1 where memory is short, which it does for its own reasons otherwise. */
const runs = (reason === null || process.env.CI === "true") && process.getuid?.() === 0;
async function processOneFirst(): Promise<void> {
  for (const { Id } of await docker.listContainers({
    filters: { label: [`tadpole.experiment=${EXPERIMENT}`] },
  })) {
    const { State } = await docker.getContainer(Id).inspect();
    writeFileSync(`/proc/${State.Pid}/oom_score_adj`, "1000");
  }
}

describe.skipIf(!runs)("a rollout that has its container killed", () => {
  let bench: ActivityBench;
  let services: SandboxServices;
  let runtime: SandboxRuntime;
  let image: string;
  const environment = () => tinyEnvironment(join(bench.data, "tiny"));
  const treeGiven = async () => {
    const overlay = agentOverlay(tinyTask);
    return hashManifest(applyToManifest(await scanTree(environment().root), overlay));
  };
  beforeAll(async () => {
    bench = await openActivityBench();
    const { root } = environment();
    const files = [...(await scanTree(root))].filter(([, { type }]) => type === "file");
    image = await buildImage(docker, {
      dockerfile: "Dockerfile",
      files: [
        ...files.map(
          ([path]): FileChange => ({
            kind: "write",
            path: `tree/${path}`,
            ...encode(readFileSync(join(root, path))),
          }),
        ),
        {
          ...{ kind: "write", path: "Dockerfile", encoding: "utf8" },
          content: `FROM ${await ensureBaseImage()}\nUSER root\nCOPY tree /testbed\n`,
        },
      ],
    });
    runtime = createRuntime("docker", { dataFolder: bench.data, nodePath: process.execPath });
    const inImage = { ...environment(), mounts: [], image: { reference: image, workdir: "/testbed" } };
    services = {
      ...bench.services,
      runtime,
      environments: { ...bench.services.environments, byKey: async () => inImage },
    };
    await recordTask(services.db, tinyTask, await putJson(services.artifacts, tinyTask, "task"));
    await recordStatement(services.db, { ...tinyStatement, level: 2 });
  }, 120_000);
  afterAll(async () => {
    await runtime?.reap({ now: Number.MAX_SAFE_INTEGER });
    if (image !== undefined) await docker.getImage(image).remove({ force: true });
    await bench?.close();
  });

  /** Its tree is changed before its container goes. */
  const SCRIPT = [bash("echo x >> index.js"), bash(HOG), "never said"];
  const slot = (name: string): RolloutInput => {
    const scope = { experiment: EXPERIMENT, iteration: 1, try: 1 };
    const sandbox = { ...settings.sandbox, memoryMb: 128, reuseCommands: false };
    const limits = { ...settings.rollout.limits, maxTokensPerTurn: 1000 };
    return {
      group: groupOf(settings, tinyTask.id, { scope, key: `${EXPERIMENT}/${name}`, sandbox, limits }),
      member: 0,
    };
  };
  const rollout = (input: RolloutInput) => call(sandboxActivities(services).rollout, input);
  const attempts = (key: string) =>
    services.db
      .selectFrom("attempts")
      .select(["attempt", "status", "kind", "resumed_turns"])
      .where("rollout_key", "=", key)
      .orderBy("attempt")
      .execute();
  const accepted = { status: "accepted", kind: null };

  it("is over: it hands in the tree it was given, and fails for it", async () => {
    const input = slot("once");
    const { client, asked } = turnTeller(input, SCRIPT, processOneFirst);
    bench.play(client);
    expect(await rollout(input)).toMatchObject({ exit: "tool_error", turns: 2 });
    expect(asked).toEqual([0, 1]);
    expect(await runtime.list(Date.now())).toEqual([]);
    const row = (await findRollout(services.db, `${input.group.key}/0`))!;
    expect(await attempts(row.key)).toEqual([{ ...accepted, attempt: 1, resumed_turns: null }]);
    expect(row).toMatchObject({ exit: "tool_error", truncated: false, change: [] });
    expect(row.tree_hash).toBe(await treeGiven());
    const trajectory = await getJson<Trajectory>(services.artifacts, row.trajectory as ArtifactRef);
    expect(trajectory.exit).toBe("tool_error");
    expect(trajectory.turns.map(({ results }) => results.length)).toEqual([1, 0]);
    // The turn that did it is trained on.
    expect(trajectory.segments[0]!.trainable.filter(Boolean)).toHaveLength(row.generated_tokens);

    const grading = createGrading({ runtime: bench.services.runtime });
    const request = { environment: environment(), task: tinyTask, mode: "cold", reuse: false } as const;
    const verdict = await grading.grade({ ...request, change: row.change as FileChange[] });
    expect(verdict).toMatchObject({ outcome: "failed", rule: "fail-to-pass-failed" });
    await grading.close();
  });

  it("is over as well where an attempt before it had come half way", async () => {
    const input = slot("resumed");
    let isUp = false;
    const { client } = turnTeller(input, SCRIPT, async (turn) => {
      await processOneFirst();
      if (turn === 0 || isUp) return;
      isUp = true;
      throw new PolicyError("unreachable", "the server went away");
    });
    bench.play(client);
    await expect(rollout(input)).rejects.toMatchObject({ type: "Infrastructure" });
    expect(await rollout(input)).toMatchObject({ exit: "tool_error", turns: 2 });
    const row = (await findRollout(services.db, `${input.group.key}/0`))!;
    expect(await attempts(row.key)).toEqual([
      { attempt: 1, status: "failed", kind: "Infrastructure", resumed_turns: null },
      { ...accepted, attempt: 2, resumed_turns: 1 },
    ]);
    expect(row).toMatchObject({ change: [], tree_hash: await treeGiven() });
  });
});
