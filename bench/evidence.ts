/**
 * `npm run evidence`: does training change what the policy solves? Three seeds, held-out tasks graded cold, beside the controls that
 * sharpening alone would give: greedy decoding and the untrained weights × 2 and × 4. Everything runs through the stack, so it can be
 * stopped and started again. Writes docs/evidence.md and docs/evidence.json.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { progressLine } from "../apps/cli/progress.ts";
import { evaluate } from "../apps/control/evaluate.ts";
import {
  codeVersion,
  loadExperiment,
  outcome,
  type Session,
  startExperiment,
  withStack,
} from "../apps/control/index.ts";
import type { ExperimentSettings } from "../core/experiment.ts";
import { packageRoot } from "../infra/stack/index.ts";
import { getExperiment, readProgress, showExperiment } from "../services/store/index.ts";
import { type Condition, type Record, renderEvidence } from "./evidence-report.ts";

const SEEDS = [1, 2, 3];
const FILE = join(packageRoot, "experiments/evidence.yaml");

/** Scaling a softmax policy's weights by k is sampling it at temperature 1/k. */
const CONTROLS = [
  { condition: "untrained × 2", mode: "control-2", temperature: 0.5 },
  { condition: "untrained × 4", mode: "control-4", temperature: 0.25 },
] as const;

await withStack(async (session) => {
  const versions = new Set<string>();
  const records: Record[] = [];
  for (const seed of SEEDS) {
    records.push(...(await measureSeed(session, seed)));
    // The code that ran, which may be older than the one that writes the page.
    versions.add((await getExperiment(session.db, `evidence-${seed}`)).code_version);
    const version = [...versions].join(", ");
    // After each seed: whoever stops here has a page that says how many there are.
    await writeFile(join(packageRoot, "docs/evidence.json"), evidenceJson(records, version));
    await writeFile(join(packageRoot, "docs/evidence.md"), renderEvidence(records, version));
  }
  console.log(renderEvidence(records, [...versions].join(", ")));
});

/** One line per condition and set: diffs stay readable. */
function evidenceJson(records: readonly Record[], version: string): string {
  const lines = records.map((record) => `  ${JSON.stringify(record)}`).join(",\n");
  return `{"codeVersion":${JSON.stringify(version)},"records":[\n${lines}\n]}\n`;
}

async function measureSeed(session: Session, seed: number): Promise<Record[]> {
  const { settings } = await loadExperiment(FILE, { seed, set: [] });
  const name = `evidence-${seed}`;
  const started = await startExperiment({ ...session, codeVersion: await codeVersion() }, name, settings);
  console.log(`${name}: ${started}`);
  const failure = await whileShowing(session, name, settings, () =>
    started === "finished" ? Promise.resolve(null) : outcome(session, name),
  );
  if (failure !== null) throw new Error(`${name} failed: ${failure.reason}`);
  const { iterations } = await showExperiment(session.db, name);
  const untrained = iterations[0]!.policy!.id;
  const trained = iterations.at(-1)!.policy!.id;
  for (const set of Object.keys(settings.evaluation.sets)) {
    for (const { mode, temperature } of CONTROLS) {
      console.log(`${name}: ${mode} on ${set}`);
      await evaluate(session, {
        experiment: name,
        policy: untrained,
        set,
        mode,
        samples: settings.evaluation.sets[set]!.samplesPerTask,
        sampling: { ...settings.evaluation.sampling, temperature },
        grading: { mode: "cold", reuse: false },
      });
    }
  }
  return collect(session, name, seed, { untrained, trained });
}

async function whileShowing<T>(
  session: Session,
  name: string,
  settings: ExperimentSettings,
  wait: () => Promise<T>,
): Promise<T> {
  const timer = setInterval(async () => {
    const progress = await readProgress(session.db, name).catch(() => null);
    if (progress !== null) console.log(progressLine(progress, settings));
  }, 15_000);
  try {
    return await wait();
  } finally {
    clearInterval(timer);
  }
}

/** Passes and runs per task of every condition, straight from the record. */
async function collect(
  session: Session,
  name: string,
  seed: number,
  policies: { readonly untrained: string; readonly trained: string },
): Promise<Record[]> {
  const rows = await session.db
    .selectFrom("evaluations")
    .select(["set_name", "set_hash", "mode", "policy", "results"])
    .where("experiment", "=", name)
    .orderBy("set_name")
    .orderBy("created_at")
    .execute();
  const conditionOf = (mode: string, policy: string): Condition | null => {
    const control = CONTROLS.find((candidate) => candidate.mode === mode);
    if (control !== undefined && policy === policies.untrained) return control.condition;
    if (mode === "sampled" && policy === policies.untrained) return "untrained";
    if (mode === "sampled" && policy === policies.trained) return "trained";
    if (mode === "greedy" && policy === policies.untrained) return "untrained, greedy";
    if (mode === "greedy" && policy === policies.trained) return "trained, greedy";
    return null;
  };
  const records = new Map<string, Record>();
  for (const row of rows) {
    const condition = conditionOf(row.mode, row.policy);
    if (condition === null) continue;
    records.set(`${condition} ${row.set_name}`, {
      seed,
      set: row.set_name,
      setHash: row.set_hash,
      condition,
      policy: row.policy,
      results: row.results as Record["results"],
    });
  }
  return [...records.values()];
}
