/** The native worker of the `gpu` queue: start policies, updates and publication, by the trainer of this machine. */
import { createGpuActivities } from "../activities/index.ts";
import type { GpuServices } from "../activities/services.ts";
import { packCheckpoint } from "../services/checkpoints/index.ts";
import { pretrainingSources } from "../services/environments/index.ts";
import {
  checkModelFolder,
  encodeCheckpoint,
  encodeStandIn,
  freshCheckpoint,
  openConversation,
  pretrain,
} from "../services/policy/index.ts";
import { createNanoTrainer } from "../services/trainers/index.ts";
import { QUEUES } from "../workflows/queues.ts";
import { openWorkerProcess, runWorker, setting } from "./common.ts";
import { DRAIN_TIME, GPU_SLOTS } from "./config.ts";
import { type OpenTrainer, openTrainer, trainerChoice } from "./gpu-trainer.ts";
import { measuredTrainer } from "./measures.ts";
import { openPublication } from "./publication.ts";

const choice = await setting(trainerChoice);
const context = await openWorkerProcess();
const { artifacts } = context.services;

function embedded(): OpenTrainer {
  const trainer = createNanoTrainer({ artifacts, openConversation });
  return { trainer, queue: QUEUES.gpu, devices: [], close: () => trainer.close() };
}

const startCheckpoint: GpuServices["startCheckpoint"] = async ({ seed, passRates, model }) => {
  if (model !== null) {
    const start = await packCheckpoint(artifacts, { model, optimizer: null, step: 0 });
    await checkModelFolder(model);
    return start;
  }
  const start =
    passRates === null
      ? encodeCheckpoint(
          freshCheckpoint(pretrain({ sources: await pretrainingSources(context.dataFolder), seed })),
        )
      : encodeStandIn({ passRates });
  return artifacts.put(start, "policy");
};

const opened = choice === null ? embedded() : await setting(() => openTrainer(choice, context));
// The embedded policy's worker is beside no engines.
const publication = choice === null ? null : openPublication(context.services, context.dataFolder);
await runWorker(
  context,
  {
    taskQueue: opened.queue,
    activities: createGpuActivities({
      ...context.services,
      ...(publication ? { policy: publication.policy } : {}),
      trainer: measuredTrainer(opened.trainer, context.meter),
      startCheckpoint,
    }),
    maxConcurrentActivityTaskExecutions: GPU_SLOTS,
    ...(choice?.drain ? { shutdownGraceTime: DRAIN_TIME } : {}),
  },
  [() => opened.close(), async () => publication?.close()],
  async () => void process.send?.({ serves: opened.queue, devices: opened.devices }),
);
