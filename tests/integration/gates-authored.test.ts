/** The hand-made tasks are tasks: each passes the gates that are always asked, in real sandboxes on real packages. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type PreparedEnvironment, prepareEnvironment } from "../../services/environments/index.ts";
import { createGrading, type GradingService } from "../../services/grading/index.ts";
import { createProcessRuntime } from "../../services/sandbox/index.ts";
import { createSynthesis, type SynthesisService } from "../../services/synthesis/index.ts";
import { AUTHORED, candidateOf } from "../support/authored/index.ts";

let data: string;
let grading: GradingService;
let synthesis: SynthesisService;
const environments = new Map<string, Promise<PreparedEnvironment>>();

beforeAll(() => {
  data = mkdtempSync(join(tmpdir(), "gates-authored-"));
  const runtime = createProcessRuntime({ root: join(data, "sandboxes"), nodePath: process.execPath });
  grading = createGrading({ runtime });
  synthesis = createSynthesis({ grading, sandboxRuntime: runtime, mode: "warm" });
});
afterAll(async () => {
  await grading?.close();
  rmSync(data, { recursive: true, force: true });
});

function environmentOf(name: string): Promise<PreparedEnvironment> {
  const runTests = (request: Parameters<GradingService["runTests"]>[0]) => grading.runTests(request, "cold");
  const known = environments.get(name) ?? prepareEnvironment({ name, dataFolder: data, runTests });
  environments.set(name, known);
  return known;
}

/** Those whose packages' tests take a moment. A speed-up, whose workload runs for seconds by turns, is judged in tests/e2e/five-types.test.ts. */
const QUICK = ["json-stable-stringify", "point-in-polygon", "roman", "text-table", "tilebelt"];
const SHOWN = AUTHORED.filter(
  ({ environment, type }) => QUICK.includes(environment) && type !== "performance",
);

it.each(SHOWN.map((one) => [one.type, one.name, one] as const))(
  "%s: %s",
  async (type, _, authored) => {
    const environment = await environmentOf(authored.environment);
    const { task, gates } = await synthesis.validate(environment, candidateOf(environment, authored), {
      stabilityRuns: 1,
    });
    expect(gates.filter(({ passed }) => !passed)).toEqual([]);
    expect(task?.type).toBe(type);
    expect(task?.failToPass.length).toBeGreaterThan(0);
    expect(task?.facts.text).toEqual(authored.text);
  },
  180_000,
);
