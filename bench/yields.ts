/**
 * Measures synthesis on real packages: what becomes of drawn candidates, by operator, and what a valid task costs.
 *
 *     node bench/yields.ts --candidates 100 minimist hashids strcase
 *
 * takes environments of any framework; there is one table of operators for each language.
 */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { random } from "../core/random.ts";
import type { GeneratorName } from "../core/task.ts";
import { prepareEnvironment } from "../services/environments/index.ts";
import { createGrading } from "../services/grading/index.ts";
import { languageOf } from "../services/languages/index.ts";
import { createProcessRuntime } from "../services/sandbox/index.ts";
import { candidateKey, createSynthesis, type GateName } from "../services/synthesis/index.ts";

const OUTCOMES = [
  "valid",
  "duplicate",
  "build",
  "ends",
  "fail-to-pass",
  "reproduction",
  "leak",
  "other",
] as const;
type Outcome = (typeof OUTCOMES)[number];

const HEADINGS: Readonly<Record<Outcome, string>> = {
  valid: "valid",
  duplicate: "drawn before",
  build: "does not load",
  ends: "never ends",
  "fail-to-pass": "survives",
  reproduction: "no reproduction",
  leak: "leaks",
  other: "other gate",
};

function outcomeOf(gate: GateName | undefined): Outcome {
  if (gate === undefined) return "valid";
  return OUTCOMES.find((outcome) => outcome === gate) ?? "other";
}

/** CPU seconds of this process and of its children that have ended. */
function cpuSeconds(): number {
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1]!.split(" ");
  const ticks = [11, 12, 13, 14].reduce((sum, i) => sum + Number(fields[i]), 0);
  return ticks / 100;
}

class Tally {
  private readonly rows = new Map<string, Map<Outcome, number>>();

  add(row: string, outcome: Outcome): void {
    const counts = this.rows.get(row) ?? new Map<Outcome, number>();
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    this.rows.set(row, counts);
  }

  count(row: string, outcome: Outcome): number {
    return this.rows.get(row)?.get(outcome) ?? 0;
  }

  print(title: string): void {
    const used = OUTCOMES.filter((outcome) => [...this.rows.values()].some((row) => row.has(outcome)));
    console.log(`| ${[title, "drawn", ...used.map((outcome) => HEADINGS[outcome])].join(" | ")} |`);
    console.log(`|---|${"---:|".repeat(used.length + 1)}`);
    for (const [row, counts] of [...this.rows].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const drawn = [...counts.values()].reduce((sum, count) => sum + count, 0);
      console.log(`| ${[row, drawn, ...used.map((outcome) => counts.get(outcome) ?? 0)].join(" | ")} |`);
    }
    console.log();
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    candidates: { type: "string", default: "100" },
    generator: { type: "string", default: "mutation" },
    mode: { type: "string", default: "warm" },
    seed: { type: "string", default: "1" },
    data: { type: "string", default: process.env.TADPOLE_DATA ?? ".tadpole" },
    rejected: { type: "boolean", default: false },
  },
});

const data = resolve(values.data);
const mode = values.mode === "cold" ? "cold" : "warm";
const sandboxRuntime = createProcessRuntime({ root: join(data, "sandboxes"), nodePath: process.execPath });
const byOperator = new Map<string, Tally>();
const byPackage = new Tally();
let reproduced = 0;
let cpu = 0;
let wall = 0;

for (const name of positionals) {
  const grading = createGrading({ runtime: sandboxRuntime });
  const synthesis = createSynthesis({ grading, sandboxRuntime, mode });
  const runTests = (request: Parameters<typeof grading.runTests>[0]) => grading.runTests(request, "cold");
  const environment = await prepareEnvironment({ name, dataFolder: data, runTests });
  const before = cpuSeconds();
  const started = performance.now();
  const seen = new Set<string>();
  for (let n = 0; n < Number(values.candidates); n++) {
    const stream = random(Number(values.seed), "yields", name, values.generator, n);
    const brief = { functions: "all", heldOutShare: 0 } as const;
    const candidate = await synthesis.generate(environment, values.generator as GeneratorName, brief, stream);
    if ("none" in candidate) continue;
    const operator = candidate.sites.map((site) => site.operator).join(" + ");
    let outcome: Outcome = "duplicate";
    if (!seen.has(candidateKey(candidate))) {
      seen.add(candidateKey(candidate));
      const { gates, task } = await synthesis.validate(environment, candidate, { stabilityRuns: 3 });
      const failed = gates.find((gate) => !gate.passed);
      outcome = outcomeOf(failed?.gate);
      if (task !== null && task.facts.reproduction !== null) reproduced++;
      if (values.rejected && failed !== undefined)
        console.error(`${name} ${n} ${operator}: ${failed.gate}: ${failed.evidence}`);
    }
    if (values.generator === "mutation") {
      const language = languageOf(candidate.sites[0]!.file)!.name;
      const table = byOperator.get(language) ?? new Tally();
      byOperator.set(language, table);
      table.add(operator, outcome);
    }
    byPackage.add(name, outcome);
  }
  // A warm runner's time counts when it has ended.
  await grading.close();
  cpu += cpuSeconds() - before;
  wall += (performance.now() - started) / 1000;
}

const valid = positionals.reduce((sum, name) => sum + byPackage.count(name, "valid"), 0);
byPackage.print("package");
for (const [language, table] of byOperator) table.print(`operator (${language})`);
console.log(
  `${valid} valid tasks, ${reproduced} with a reproduction, ${mode}: ${(cpu / valid).toFixed(2)} CPU seconds and ${(wall / valid).toFixed(2)} seconds each`,
);
