/** A small experiment on record, every row consistent with the others: what queries and the report are tested on. */
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { ProbeDecision } from "../../core/refinement.ts";
import { experimentSchema } from "../../core/schemas/experiment.ts";
import type { Statement, Task } from "../../core/task.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import {
  type ArtifactStore,
  createExperiment,
  type Db,
  openAttempt,
  putJson,
  type Row,
  recordBatch,
  recordEnvironment,
  recordEvaluation,
  recordEvent,
  recordGroup,
  recordIteration,
  recordPolicy,
  recordProbe,
  recordStatement,
  recordTask,
  recordUpdate,
  recordValidation,
  sealRollout,
  setResult,
  setVerdict,
  sha256Of,
} from "../../services/store/index.ts";

export function testSettings(
  change: { readonly seed?: number; readonly iterations?: number } = {},
): ExperimentSettings {
  return experimentSchema.parse({
    policy: { kind: "nano" },
    environments: { train: ["minimist"] },
    selection: { set: { environments: ["minimist"], functions: "train", tasks: 2, samplesPerTask: 2 } },
    evaluation: {
      sets: {
        unseen: { environments: ["deep-equal"], functions: "all", tasks: 40, samplesPerTask: 2 },
        functions: { environments: ["minimist"], functions: "held-out", tasks: 40, samplesPerTask: 2 },
      },
    },
    ...change,
  });
}

export function policyRef(name: string, parent: string | null = null, step = 0) {
  const sha256 = sha256Of(Buffer.from(name));
  return {
    id: `nano-${sha256.slice(0, 16)}`,
    checkpoint: { uri: `artifact:${sha256}`, sha256, bytes: name.length, kind: "policy" as const },
    parent,
    step,
  };
}

export function testTask(index: number): Task {
  const file = "index.js";
  const write = (content: string) => [{ kind: "write", path: file, content, encoding: "utf8" }] as const;
  return {
    id: `t${String(index).padStart(16, "0")}`,
    environment: "minimist@1.2.8-000000000000",
    type: index % 3 === 2 ? "feature" : "bug",
    generator: index % 3 === 2 ? "removal" : "mutation",
    base: write(`exports.add = (a, b) => a - b; // ${index}\n`),
    gold: write(`exports.add = (a, b) => a + b; // ${index}\n`),
    hiddenFiles: ["test/add.js"],
    failToPass: ["test/add.js > add > should be equal#1"],
    passToPass: [],
    functions: [`minimist#${file}#add`],
    facts: { sites: [{ file, functionName: "add", line: 1, operator: "arithmetic" }], reproduction: null },
  };
}

export function testStatement(taskId: string, level: Statement["level"], text: string): Statement {
  return { taskId, level, text, hash: sha256Of(Buffer.from(text)) };
}

export function testTrajectory(policy: string, reply: string): Trajectory {
  const call = {
    id: "call-0-0",
    name: "Bash",
    arguments: JSON.stringify({ command: "node -e 'add(1, 2)'" }),
  };
  return {
    segments: [{ tokens: [1, 2, 300], trainable: [0, 0, 1], logProbs: [0, 0, -0.5] }],
    turns: [
      {
        turn: 0,
        promptTokens: 2,
        completionTokens: 1,
        toolCalls: [call],
        results: ["Exit code: 0\nSTDOUT:\n-1"],
        treeHash: null,
      },
      { turn: 1, promptTokens: 9, completionTokens: 1, toolCalls: [], results: [], treeHash: null },
    ],
    messages: [
      { role: "system", content: "You are a software-engineering agent." },
      { role: "user", content: "add(1, 2) prints -1." },
      { role: "assistant", content: null, toolCalls: [call] },
      { role: "tool", toolCallId: call.id, content: "Exit code: 0\nSTDOUT:\n-1" },
      { role: "assistant", content: reply },
    ],
    weightVersion: policy,
    exit: "agent",
    generatedTokens: 2,
  };
}

export function rolloutRow(
  key: string,
  change: Partial<Row<"rollouts">> & { readonly trajectory: object },
): Row<"rollouts"> {
  const slash = key.lastIndexOf("/");
  return {
    key,
    group_key: key.slice(0, slash),
    member: Number(key.slice(slash + 1)),
    task_id: testTask(0).id,
    level: 1,
    policy: policyRef("start").id,
    content_key: sha256Of(Buffer.from(key)),
    exit: "agent",
    truncated: false,
    turns: 2,
    generated_tokens: 2,
    outcome: null,
    rule: null,
    raw_reward: null,
    reward: null,
    tree_hash: "0".repeat(64),
    change: [],
    tools: { Bash: 1 },
    model_seconds: 0.5,
    tool_seconds: 0.25,
    ...change,
  };
}

/** Members of a group, graded: member m passes while m < passes. */
export async function recordTestGroup(
  db: Db,
  artifacts: ArtifactStore,
  group: {
    readonly key: string;
    readonly experiment: string;
    readonly iteration?: number;
    readonly phase: string;
    readonly task: Task;
    readonly passes: number;
    readonly size: number;
    readonly try?: number;
    /** The start policy unless named. */
    readonly policy?: string;
  },
): Promise<void> {
  const policy = group.policy ?? policyRef("start").id;
  for (let member = 0; member < group.size; member++) {
    const key = `${group.key}/${member}`;
    const passed = member < group.passes;
    const reply = passed ? "Fixed <b>add</b>." : "I could not find it.";
    const trajectory = await putJson(artifacts, testTrajectory(policy, reply), "trajectory");
    const { fence } = await openAttempt(db, { rolloutKey: key, experiment: "", epoch: 0 });
    await sealRollout(
      db,
      fence,
      rolloutRow(key, { trajectory, task_id: group.task.id, policy, turns: 2 + member }),
    );
    await setVerdict(db, key, {
      outcome: passed ? "passed" : "failed",
      rule: passed ? "all-passed" : "fail-to-pass-failed",
      rawReward: passed ? 1 : 0,
      reward: passed ? 1 : 0,
    });
  }
  await recordGroup(db, {
    key: group.key,
    experiment: group.experiment,
    iteration: group.iteration ?? 1,
    try: group.try ?? 1,
    phase: group.phase,
    task_id: group.task.id,
    level: 1,
    policy,
    size: group.size,
    passes: group.passes,
    mean_reward: group.passes / group.size,
    zero_variance: group.passes === 0 || group.passes === group.size,
  });
}

/**
 * One iteration from `start` to `end`: four candidates (admitted at once; admitted after one refinement; dropped; rejected by a gate), one
 * batch of two groups with an update, and a second whose groups were all dropped.
 */
export async function recordTestExperiment(db: Db, artifacts: ArtifactStore, name: string): Promise<void> {
  const settings = testSettings({ seed: 3, iterations: 1 });
  await createExperiment(db, { name, settings, codeVersion: "0.1.0" });
  const start = policyRef("start");
  const end = policyRef("end", start.id, 1);
  await recordPolicy(db, "nano", start);
  await recordPolicy(db, "nano", end);
  const phase = (phase: string, iteration = 0) =>
    recordEvent(db, {
      key: `${name}/${iteration}/${phase}`,
      experiment: name,
      kind: "phase",
      detail: { iteration, phase },
    });
  await phase("environments");
  const tasks = [0, 1, 2].map(testTask);
  await recordEnvironment(db, {
    key: tasks[0]!.environment,
    name: "minimist",
    version: "1.2.8",
    status: "ready",
    summary: {},
  });
  const scope = `${name}/it/1/try/1`;
  const iteration = {
    experiment: name,
    iteration: 1,
    try: 1,
    start_policy: start.id,
    end_policy: null,
    pinned: { settings },
  };
  await recordIteration(db, { ...iteration, status: "pool", pool: null });
  await phase("pool", 1);
  for (const [candidate, task] of tasks.entries()) {
    await recordTask(db, task, await putJson(artifacts, task, "task"));
    for (const level of [1, 2] as const)
      await recordStatement(db, testStatement(task.id, level, `add(1, 2) prints -1 (level ${level}).`));
    await recordValidation(db, {
      scope,
      candidate,
      task_id: task.id,
      generator: task.generator,
      outcome: "valid",
      gates: [{ gate: "gold", passed: true, evidence: "" }],
    });
  }
  const gates = [{ gate: "fail-to-pass", passed: false, evidence: "no test failed" }];
  await recordValidation(db, {
    scope,
    candidate: 3,
    task_id: null,
    generator: "mutation",
    outcome: "fail-to-pass",
    gates,
  });
  const probes: [candidate: number, refinement: number, passes: number, decision: ProbeDecision][] = [
    [0, 0, 2, "admit"],
    [1, 0, 0, "refine"],
    [1, 1, 1, "admit"],
    [2, 0, 4, "drop: too-easy-at-least-specific"],
  ];
  for (const [candidate, refinement, passes, decision] of probes) {
    const task = tasks[candidate]!;
    const key = `${scope}/task/${candidate}/probe/${refinement}`;
    await recordTestGroup(db, artifacts, { key, experiment: name, phase: "probe", task, passes, size: 4 });
    await recordProbe(db, {
      scope,
      candidate,
      refinement,
      task_id: task.id,
      level: 1 + refinement,
      policy: start.id,
      passes,
      runs: 4,
      label_key: "label",
      decision,
      group_key: key,
    });
  }
  await phase("climb", 1);
  const pool = { admitted: 2, dropped: 2, refined: 1, candidates: 4 };
  const climbing = { ...iteration, pool };
  await recordIteration(db, { ...climbing, status: "climb" });
  const first = [`${scope}/task/0/probe/0`, `${scope}/task/1/probe/1`];
  await recordTestGroup(db, artifacts, {
    key: `${scope}/climb/2/0`,
    experiment: name,
    phase: "climb",
    task: tasks[0]!,
    passes: 4,
    size: 4,
  });
  const update = { experiment: name, iteration: 1, try: 1 };
  const batch = { ...end.checkpoint, kind: "batch" as const };
  await recordBatch(db, {
    ...update,
    update: 1,
    groups: first,
    kept_groups: 2,
    dropped_groups: 0,
    artifact: batch,
  });
  await recordUpdate(db, {
    ...update,
    update: 1,
    batch,
    parent_policy: start.id,
    policy: end.id,
    kept_groups: 2,
    dropped_groups: 0,
    metrics: {
      loss: -0.1,
      gradientNorm: 2,
      trainableTokens: 20,
      droppedTokens: 5,
      effectiveSampleSize: 15,
      entropy: 1.5,
      meanRatio: 1,
    },
  });
  await recordBatch(db, {
    ...update,
    update: 2,
    groups: [`${scope}/climb/2/0`],
    kept_groups: 0,
    dropped_groups: 1,
    artifact: null,
  });
  await recordIteration(db, { ...climbing, status: "finished", end_policy: end.id });
  await phase("finished", 1);
  for (const [number, policy, passAt1] of [
    [0, start, 0.25],
    [1, end, 0.5],
  ] as const)
    for (const set of ["functions", "unseen"])
      for (const mode of ["sampled", "greedy"]) {
        const rate = mode === "greedy" ? passAt1 + 0.1 : passAt1;
        const runs = mode === "greedy" ? 1 : 2;
        await recordEvaluation(db, {
          key: `${name}/${number}/${set}/${mode}`,
          experiment: name,
          iteration: number,
          policy: policy.id,
          set_name: set,
          set_hash: "hash",
          mode,
          tasks: 40,
          samples: runs,
          pass_at_1: rate,
          low: rate - 0.1,
          high: rate + 0.15,
          results: Array.from({ length: 40 }, (_, i) => ({
            taskId: testTask(i).id,
            passes: i < rate * 40 ? runs : 0,
            runs,
          })),
        });
      }
  await setResult(db, name, "done", { policy: end });
  await phase("done");
}
