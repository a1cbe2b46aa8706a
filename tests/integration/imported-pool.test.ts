/** Imported tasks as a pool's candidates: drawn in an order of the seed's, proven again before they are probed, and worded by their source alone. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  createRecordActivities,
  createSandboxActivities,
  type SandboxServices,
} from "../../activities/index.ts";
import type { CandidateRef, SynthesiseInput } from "../../activities/types.ts";
import { startExperiment } from "../../apps/control/index.ts";
import { shortKey } from "../../core/candidates.ts";
import { applyOverrides } from "../../core/schemas/index.ts";
import type { Task } from "../../core/task.ts";
import { createGrading, type GradingService } from "../../services/grading/index.ts";
import { createProcessRuntime } from "../../services/sandbox/index.ts";
import { putJson, recordEnvironment, recordStatement, recordTask } from "../../services/store/index.ts";
import {
  calculator,
  calculatorTask,
  calculatorTree,
  unittestCommand,
  verifierOf,
  write,
} from "../support/calculator.ts";
import { openTestRecord, type TestRecord } from "../support/open-record.ts";
import { testStatement } from "../support/record.ts";
import { smallestSettings } from "../support/smallest.ts";
import { call } from "./activities-services.ts";

const NEW = "test_add (tests.test_calc.New.test_add)";
const OLD = "test_zero (tests.test_calc.Old.test_zero)";

let folder: string;
let record: TestRecord;
let grading: GradingService;
let sandbox: ReturnType<typeof createSandboxActivities>;

/** A task of its own, by its number; `change` is what is wrong with it. */
async function recordImported(number: number, change: Partial<Task> = {}): Promise<string> {
  // Pools tell keys apart by their beginnings.
  const id = `t${String(number).padStart(2, "0").padEnd(16, "0")}`;
  const plain = calculatorTask(verifierOf([unittestCommand]), [NEW], [OLD]);
  const task: Task = { ...plain, id, functions: [`calc-${number}#calc.py#`], ...change };
  await recordTask(record.db, task, await putJson(record.artifacts, task, "task"));
  await recordStatement(record.db, testStatement(id, 1, "add(2, 3) is -1."));
  return id;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "imported-"));
  record = await openTestRecord();
  const root = join(folder, "root");
  calculatorTree(root);
  const environment = calculator(root, null);
  const { key } = environment;
  const summary = { tests: 0, unstable: [], baselineRuns: 0, cpuSeconds: 0 };
  await recordEnvironment(record.db, { key, name: "calculator", version: "", status: "ready", summary });
  const runtime = createProcessRuntime({ root: join(folder, "sandboxes"), nodePath: process.execPath });
  grading = createGrading({ runtime });
  const services = {
    ...record,
    runtime,
    grading,
    disk: null,
    environments: { byKey: () => Promise.resolve(environment) },
  } as unknown as SandboxServices;
  sandbox = createSandboxActivities(services, () => services);
}, 60_000);
afterAll(async () => {
  await grading?.close();
  await record?.close();
  await rm(folder, { recursive: true, force: true });
});

const draw = (change: Partial<SynthesiseInput> = {}) =>
  call(sandbox.synthesise, {
    seed: 1,
    randomKeys: [1, "pool"],
    environments: [],
    choice: "imported",
    functions: "train",
    mix: { mutation: 1 },
    heldOutShare: 0,
    exclude: null,
    from: 0,
    count: 8,
    ...change,
  });

const settings = applyOverrides(smallestSettings, ["ablation=imported-tasks", "sandbox.runtime=docker"]);

describe("a pool of imported tasks", () => {
  it("is refused at the start where none is proven, and where its images cannot run", async () => {
    const context = { db: record.db, client: null as never, codeVersion: "0" };
    await expect(startExperiment(context, "none", settings)).rejects.toMatchObject({
      kind: "impossible-value",
      message: expect.stringMatching(/ablation: expected imported tasks that are proven .*none on record/),
    });
    expect(() => applyOverrides(smallestSettings, ["ablation=imported-tasks"])).toThrow(
      /sandbox\.runtime: expected docker where ablation is imported-tasks/,
    );
  });

  it("draws each once in an order of the seed's, tells its end, and leaves out what was used", async () => {
    const ids: string[] = [];
    for (let number = 0; number < 10; number++) ids.push(await recordImported(number));
    const first = await draw();
    const rest = await draw({ from: 8 });
    expect([first.exhausted, rest.exhausted]).toEqual([undefined, true]);
    const keys = [...first.candidates, ...rest.candidates].map(({ key }) => key);
    expect([...keys].sort()).toEqual(ids);
    expect(keys).not.toEqual(ids);
    expect(rest.empty.map(({ index }) => index)).toEqual([10, 11, 12, 13, 14, 15]);
    expect(first.candidates[0]).toMatchObject({
      generator: "import",
      environment: { name: "calculator" },
      task: { id: keys[0], level: 1 },
    });
    expect((await draw()).candidates).toEqual(first.candidates);
    expect((await draw({ seed: 2 })).candidates.map(({ key }) => key)).not.toEqual(keys.slice(0, 8));
    const exclude = await call(createRecordActivities(record as never).noteUsed, {
      experiment: "e",
      before: null,
      keys: [shortKey(keys[0]!)],
    });
    expect((await draw({ exclude })).candidates).toEqual(first.candidates.slice(1));
  });

  it("proves each again: doing nothing fails, the solution passes, as often as asked; the statement stays its source's", async () => {
    const candidateOf = async (id: string): Promise<CandidateRef> => {
      const { candidates } = await draw({ count: 50 });
      return candidates.find(({ key }) => key === id)!;
    };
    const validate = async (id: string, candidate = 0) =>
      call(sandbox.validate, {
        recordScope: `e/it/1/try/${candidate + 1}`,
        candidate: { ...(await candidateOf(id)), index: candidate },
        stabilityRuns: 2,
        level: 3,
      });
    const gatesOf = async (candidate: number) => {
      const row = await record.db
        .selectFrom("validations")
        .select(["gates", "outcome", "generator"])
        .where("scope", "=", `e/it/1/try/${candidate + 1}`)
        .executeTakeFirstOrThrow();
      return [row.outcome, row.generator, (row.gates as { gate: string }[]).map(({ gate }) => gate)];
    };
    const good = await recordImported(20);
    expect(await validate(good)).toMatchObject({ taskId: good, rejectedBy: null, level: 1 });
    expect(await gatesOf(0)).toEqual(["valid", "import", ["no-op", "gold", "stability"]]);
    const solved = await recordImported(21, { failToPass: [OLD], passToPass: [] });
    expect(await validate(solved, 1)).toMatchObject({ taskId: null, rejectedBy: "no-op" });
    const wrong = await recordImported(22, { gold: [write("calc.py", "def add(a, b):\n    return 6\n")] });
    expect(await validate(wrong, 2)).toMatchObject({ taskId: null, rejectedBy: "gold" });
    expect(await gatesOf(2)).toEqual(["gold", "import", ["no-op", "gold"]]);
    const refine = createRecordActivities(record as never).refine;
    expect(await call(refine, { taskId: good, level: 2 })).toEqual({
      written: false,
      reason: "an imported task has the one statement of its source",
    });
  });
});
