/**
 * What a rollout costs in Docker sandboxes beside its model: ten commands, the diff, a fresh box, the tests, the verdict; four at a time. Against the same
 * commands in two bare containers, and against Harbor's trial of its reference solution of the same task on the same image.
 */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Task } from "../core/task.ts";
import type { PreparedEnvironment } from "../services/environments/index.ts";
import { harborFolder } from "../services/formats/index.ts";
import { createGrading, type GradingService } from "../services/grading/index.ts";
import { mountsOf } from "../services/grading/protect.ts";
import { baseImageTag } from "../services/sandbox/docker/image.ts";
import { connectDocker, ensureBaseImage, type SandboxRuntime } from "../services/sandbox/index.ts";
import { type BenchContext, type Measure, temporaryFolder } from "./bench.ts";
import { archiveOf, type BareBoxes, bareBox, removeBareBoxes } from "./peers/bare-box.ts";
import { harborMissing, harborTrials, prepareHarbor } from "./peers/harbor.ts";
import { timeMeasures } from "./percentiles.ts";
import { inTurns, timed } from "./repeat.ts";
import { environmentSpec } from "./sandbox-environment.ts";
import { benchIdentity } from "./sandbox-spec.ts";
import { agentCommands, benchStatement, benchTask, quoted } from "./sandbox-task.ts";

const CONCURRENCY = 4;
/** Each is `CONCURRENCY` rollouts a side. */
const ROUNDS = 12;
const QUICK_ROUNDS = 2;
/** Harbor's trials take longer, mostly by waiting: one round of them for so many of the others. */
const ROUNDS_PER_TRIALS = 4;
const GOALS = { bare: 1.15, harbor: 0.2 };
const CPUS = 2;
const COMMAND_LIMITS = { timeoutSeconds: 120, cpuSeconds: 120, outputBytes: 2 ** 20 };

export async function rolloutCost(
  context: BenchContext,
  runtime: SandboxRuntime,
  environment: PreparedEnvironment,
): Promise<Measure[]> {
  const { docker } = connectDocker();
  const image = await ensureBaseImage();
  const task = await benchTask(environment, runtime);
  const grading = createGrading({ runtime });
  const boxes = { docker, image, cpus: CPUS, folder: join(await temporaryFolder(context), "bare") };
  context.defer(removeBareBoxes);
  const sides = {
    bare: await bareRollout(boxes, environment, task),
    unsolved: () => rollout(runtime, grading, environment, task, "unsolved"),
    solved: () => rollout(runtime, grading, environment, task, "solved"),
  };
  const four = (side: () => Promise<unknown>) => async () => {
    const all = await Promise.allSettled(Array.from({ length: CONCURRENCY }, () => timed(side)));
    // Only now, so that no box of the others is left behind.
    return all.map((one) => {
      if (one.status === "rejected") throw one.reason;
      return one.value.seconds;
    });
  };
  const turns = { bare: four(sides.bare), unsolved: four(sides.unsolved), solved: four(sides.solved) };
  const missing = harborMissing();
  if (missing !== null) context.progress(`Harbor is not compared: ${missing}`);
  const files = await harborFolder({
    task,
    statement: benchStatement(task),
    environment,
    image: baseImageTag(),
    network: "public",
  });
  const harbor = missing === null ? await prepareHarbor(context, docker, files) : null;
  await inTurns(1, turns);
  const rounds = context.quick ? QUICK_ROUNDS : ROUNDS;
  const times: Record<keyof typeof turns | "harbor", number[]> = {
    bare: [],
    unsolved: [],
    solved: [],
    harbor: [],
  };
  for (let round = 0; round < rounds; round += ROUNDS_PER_TRIALS) {
    const results = await inTurns(Math.min(ROUNDS_PER_TRIALS, rounds - round), turns);
    for (const side of ["bare", "unsolved", "solved"] as const) times[side].push(...results[side].flat());
    if (harbor !== null) times.harbor.push(...(await harborTrials(harbor, CONCURRENCY)));
    context.progress(`${times.solved.length} of ${rounds * CONCURRENCY} rollouts of each kind`);
  }
  const against = (kind: "solved" | "unsolved", peer: "bare" | "harbor", name: string, goal: number | null) =>
    timeMeasures(
      `${kind} rollout, docker, against ${name}`,
      { subject: times[kind], reference: times[peer] },
      "s",
      goal,
    );
  return [
    ...against("unsolved", "bare", "two bare containers", GOALS.bare),
    // Where all tests pass, a third box runs what must fail.
    ...against("solved", "bare", "two bare containers", null),
    ...(harbor === null ? [] : against("solved", "harbor", "Harbor's reference solution", GOALS.harbor)),
  ];
}

async function rollout(
  runtime: SandboxRuntime,
  grading: GradingService,
  environment: PreparedEnvironment,
  task: Task,
  outcome: "solved" | "unsolved",
): Promise<void> {
  const spec = { ...environmentSpec(environment), overlay: task.base };
  const sandbox = await runtime.create(spec, benchIdentity(randomUUID()));
  let change: Awaited<ReturnType<typeof sandbox.changes>>;
  try {
    for (const command of agentCommands(task, environment, outcome)) {
      const { exitCode } = await sandbox.exec(["sh", "-c", command], COMMAND_LIMITS);
      if (exitCode !== 0) throw new Error(`${command}: exit code ${exitCode}`);
    }
    change = await sandbox.changes();
  } finally {
    await sandbox.destroy();
  }
  const verdict = await grading.grade({ environment, task, change, mode: "cold", reuse: false });
  if (verdict.outcome !== (outcome === "solved" ? "passed" : "failed"))
    throw new Error(
      `the ${outcome} rollout is ${verdict.outcome} (${verdict.rule}: ${verdict.offending.join(", ")})`,
    );
}

async function bareRollout(
  boxes: BareBoxes,
  environment: PreparedEnvironment,
  task: Task,
): Promise<() => Promise<void>> {
  const spec = environmentSpec(environment);
  const agent = { ...spec, overlay: task.base };
  const grader = { ...agent, mounts: mountsOf(environment) };
  const archives = { agent: await archiveOf(agent), grader: await archiveOf(grader) };
  const commands = agentCommands(task, environment, "unsolved").map((command) => `sh -c ${quoted(command)}`);
  const tests = environment.commands.map(({ argv }) => argv.map(quoted).join(" "));
  return async () => {
    const codes = await bareBox(boxes, agent, archives.agent, commands);
    const tested = await bareBox(boxes, grader, archives.grader, tests);
    if (codes.some((code) => code !== 0) || tested.every((code) => code === 0))
      throw new Error(
        `the bare containers: exit codes ${codes} and ${tested}; expected 0 of each command, not of each test`,
      );
  };
}
