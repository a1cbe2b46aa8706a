/** The nano trainer meets the contract of trainers, on batches that the embedded policy sampled; a trainer process, on those of the smallest policy. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodeCheckpoint, freshCheckpoint, openConversation } from "../../services/policy/index.ts";
import { createLocalArtifacts } from "../../services/store/index.ts";
import { createNanoTrainer } from "../../services/trainers/index.ts";
import { openTiny } from "../support/tiny-trainer/open.ts";
import { rolloutBatch, someWeights } from "../unit/trainer-rollouts.ts";
import { trainerContract } from "./trainer.ts";

const weights = someWeights(1);
const rows = rolloutBatch(weights, 1, 3, 8);

trainerContract("nano", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tadpole-trainer-"));
  const artifacts = await createLocalArtifacts(folder);
  const checkpoint = await artifacts.put(encodeCheckpoint(freshCheckpoint(weights)), "policy");
  const another = () => createNanoTrainer({ artifacts, openConversation });
  return {
    trainer: another(),
    another,
    artifacts,
    parent: { id: `nano-${checkpoint.sha256.slice(0, 16)}`, checkpoint, parent: null, step: 0 },
    rows,
    close: () => rm(folder, { recursive: true, force: true }),
  };
});

trainerContract("process", async () => {
  const tiny = await openTiny();
  return {
    ...tiny,
    trainer: await tiny.trainer(),
    another: () => tiny.trainer({}, { machine: "another" }),
  };
});
