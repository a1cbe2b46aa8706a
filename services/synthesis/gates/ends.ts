/** ends: the first run of the base tree. It must end by itself (`ends`) and reach an assertion (`build`). */
import { limitsOf } from "../../grading/index.ts";
import { CHECK_SCOPE } from "../checks/names.ts";
import { Refused, type Trial } from "./trial.ts";

export async function ends(trial: Trial): Promise<void> {
  const first = await trial.run(trial.candidate.base);
  if (!first.ended)
    throw new Refused(
      "ends",
      `the tests do not end: stopped by the limit of ${first.stoppedBy ?? "time"} (${limitsOf(trial.environment).cpuSeconds.toFixed(1)} CPU seconds)`,
    );
  // A check of its type reports whether or not anything loads.
  if (Object.keys(first.report.statuses).every((name) => name.startsWith(`${CHECK_SCOPE} > `)))
    throw new Refused("build", "no test file reaches an assertion: the package does not load");
  trial.pass("build", "parses, and the tests load it");
  trial.pass("ends", `${first.cpuSeconds.toFixed(2)} CPU seconds`);
  trial.baseRuns.push(first.report.statuses);
}
