/** A process that grades an experiment's saved changes again, says how many it did, and stalls in one to be killed; started by regrade.test.ts. */
import { regradeAll } from "../../apps/control/regrade.ts";
import { createGrading } from "../../services/grading/index.ts";
import { activityBenchOn } from "./activities-services.ts";

const [url, data, experiment, whole] = process.argv.slice(2);
const { services } = await activityBenchOn(url!, data!);
const grading = createGrading({ runtime: services.runtime });
let asked = 0;
await regradeAll(
  {
    ...{ db: services.db, artifacts: services.artifacts, codeVersion: "same" },
    grading: {
      ...grading,
      grade: async (request) => {
        if (asked++ === Number(whole)) await new Promise((resolve) => setInterval(resolve, 2 ** 30));
        return grading.grade(request);
      },
    },
    environment: (key) => services.environments.byKey(key),
  },
  {
    ...{ experiment: experiment!, iteration: null, dryRun: false, concurrency: 1 },
    onProgress: ({ done }) => void (done === Number(whole) && console.log(`graded ${done}`)),
  },
);
