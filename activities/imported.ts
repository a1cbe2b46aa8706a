/** Imported tasks as candidates of a pool: those that are proven on record, in an order of the seed's; and their proof on this host (docs/formats.md). */
import type { ArtifactRef } from "../core/artifact.ts";
import { random } from "../core/random.ts";
import type { StatementLevel, Task } from "../core/task.ts";
import type { PreparedEnvironment } from "../services/environments/index.ts";
import { type ProvenImport, provenImports } from "../services/store/index.ts";
import type { GateVerdict } from "../services/synthesis/index.ts";
import { lost } from "./blame.ts";
import type { RecordServices, SandboxServices } from "./services.ts";
import { loadTask } from "./tasks.ts";
import type { CandidateRef, SynthesiseInput } from "./types.ts";

/** All that a pool may draw, shuffled: the same for the same seed, iteration and imports. */
export async function importedTasks(
  { db }: RecordServices,
  { seed, randomKeys }: Pick<SynthesiseInput, "seed" | "randomKeys">,
): Promise<readonly ProvenImport[]> {
  return random(seed, ...randomKeys, "imports").shuffle(await provenImports(db));
}

export function importedCandidate(index: number, task: ProvenImport): CandidateRef {
  const { id, environment, level, functions } = task;
  return {
    index,
    environment,
    generator: "import",
    key: id,
    functions,
    artifact: task.artifact as ArtifactRef,
    task: { id, level: level as StatementLevel },
  };
}

export interface ImportedProof {
  readonly task: Task;
  readonly environment: PreparedEnvironment;
  readonly gates: readonly GateVerdict[];
  readonly proven: boolean;
}

/** Doing nothing fails and the solution passes, as often as a candidate's runs are repeated, each in a new box. */
export async function proveImported(
  services: SandboxServices,
  id: string,
  runs: number,
  signal: AbortSignal,
): Promise<ImportedProof> {
  const task = await loadTask(services, id);
  const environment = await services.environments.byKey(task.environment);
  const grade = async (change: Task["gold"]) => {
    const request = { environment, task, change, mode: "cold", reuse: false, signal } as const;
    const { outcome, rule, offending } = await services.grading.grade(request);
    const why = `${rule}${offending.length > 0 ? `: ${offending.slice(0, 3).join("; ")}` : ""}`;
    if (outcome === "infrastructure") throw lost(`grading the imported task ${id}: ${why}`);
    return { outcome, why };
  };
  const gates: GateVerdict[] = [];
  const gate = (name: GateVerdict["gate"], passed: boolean, evidence: string): boolean => {
    gates.push({ gate: name, passed, evidence });
    return passed;
  };
  const proven = async (): Promise<boolean> => {
    const nothing = await grade([]);
    if (!gate("no-op", nothing.outcome === "failed", `doing nothing ${nothing.outcome} by ${nothing.why}`))
      return false;
    const gold = await grade(task.gold);
    if (!gate("gold", gold.outcome === "passed", `the solution ${gold.outcome} by ${gold.why}`)) return false;
    for (let run = 2; run <= runs; run++) {
      const again = [await grade([]), await grade(task.gold)] as const;
      if (again[0].outcome !== "failed" || again[1].outcome !== "passed")
        return gate(
          "stability",
          false,
          `run ${run} of ${runs}: doing nothing ${again[0].outcome}, the solution ${again[1].outcome} by ${again[1].why}`,
        );
    }
    return gate("stability", true, `${runs} runs of the solution and of doing nothing agree`);
  };
  return { task, environment, proven: await proven(), gates };
}
