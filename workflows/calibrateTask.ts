/** One candidate: validate → probe → admit, one named action, or drop (docs/refinement.md). */
import { type CalibrateTaskInput, type CalibrateTaskOutput, Calibration } from "./calibration.ts";

export {
  type AdmittedTask,
  type CalibrateTaskInput,
  type CalibrateTaskOutput,
  validateInput,
} from "./calibration.ts";

export async function calibrateTask(input: CalibrateTaskInput): Promise<CalibrateTaskOutput> {
  return new Calibration(input).run();
}
