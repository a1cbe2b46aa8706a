/** The gates between a candidate and a task, cheapest first; the first that refuses ends it. Each leaves a verdict with its evidence. */
import type { PreparedEnvironment } from "../../environments/types.ts";
import type { Candidate, ValidateOptions, ValidationResult } from "../types.ts";
import { alternative } from "./alternative.ts";
import { build } from "./build.ts";
import { contamination, contaminationOfTask } from "./contamination.ts";
import { determined } from "./determined.ts";
import { ends } from "./ends.ts";
import { failToPass } from "./fail-to-pass.ts";
import { gold } from "./gold.ts";
import { leakOfStatements, leakOfTree } from "./leak.ts";
import { noOp } from "./no-op.ts";
import { reproduction } from "./reproduction.ts";
import { stability } from "./stability.ts";
import { type Gate, Refused, Trial, type ValidatorParts } from "./trial.ts";
import { type } from "./type.ts";
import { wrongSolution } from "./wrong-solution.ts";

/** Cheapest first, but for what needs the statements: these are written once there is a reproduction. */
const ORDER: readonly Gate[] = [
  build,
  contamination,
  leakOfTree,
  ends,
  failToPass,
  noOp,
  gold,
  stability,
  wrongSolution,
  alternative,
  type,
  reproduction,
  contaminationOfTask,
  leakOfStatements,
  determined,
];

export async function validateCandidate(
  parts: ValidatorParts,
  environment: PreparedEnvironment,
  candidate: Candidate,
  options: ValidateOptions,
): Promise<ValidationResult> {
  const trial = new Trial(parts, environment, candidate, options);
  try {
    for (const gate of ORDER) await gate(trial);
    return { task: trial.task, gates: trial.verdicts };
  } catch (error) {
    if (error instanceof Refused) return { task: null, gates: [...trial.verdicts, error.verdict] };
    throw error;
  }
}
