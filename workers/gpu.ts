/** The native worker of the `gpu` queue: start policies and updates, by the trainer of this machine. */
import { createGpuActivities } from "../activities/index.ts";
import { pretrainingSources } from "../services/environments/index.ts";
import {
  encodeCheckpoint,
  encodeStandIn,
  freshCheckpoint,
  openConversation,
  pretrain,
} from "../services/policy/index.ts";
import { createNanoTrainer } from "../services/trainers/index.ts";
import { QUEUES } from "../workflows/queues.ts";
import { openWorkerProcess, runWorker } from "./common.ts";
import { GPU_SLOTS } from "./config.ts";
import { measuredTrainer } from "./measures.ts";

const context = await openWorkerProcess();
const trainer = measuredTrainer(
  createNanoTrainer({ artifacts: context.services.artifacts, openConversation }),
  context.meter,
);
await runWorker(
  context,
  {
    taskQueue: QUEUES.gpu,
    activities: createGpuActivities({
      ...context.services,
      trainer,
      startCheckpoint: async ({ seed, passRates }) => {
        const start =
          passRates === null
            ? encodeCheckpoint(
                freshCheckpoint(pretrain({ sources: await pretrainingSources(context.dataFolder), seed })),
              )
            : encodeStandIn({ passRates });
        return context.services.artifacts.put(start, "policy");
      },
    }),
    maxConcurrentActivityTaskExecutions: GPU_SLOTS,
  },
  [() => trainer.close()],
);
