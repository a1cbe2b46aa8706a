/** A policy's checkpoint as folders that a trainer reads, and what a trainer made as a checkpoint. */
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ArtifactRef } from "../../../core/artifact.ts";
import { canonicalJson } from "../../../core/canonical.ts";
import { CHECKPOINT_MARKER, type CheckpointFile, type CheckpointManifest } from "../../../core/checkpoint.ts";
import type { PolicyRef } from "../../../core/policy.ts";
import type { ArtifactStore } from "../../store/index.ts";
import { TrainerError } from "../errors.ts";
import type { TrainedFile } from "../protocol.ts";

export interface LaidOut {
  readonly model: string;
  /** Null where the checkpoint has no state of an optimizer. */
  readonly optimizer: string | null;
}

async function readManifest(artifacts: ArtifactStore, policy: PolicyRef): Promise<CheckpointManifest> {
  const text = Buffer.from(await artifacts.get(policy.checkpoint)).toString("utf8");
  let value: Partial<CheckpointManifest> | null = null;
  try {
    value = JSON.parse(text) as Partial<CheckpointManifest>;
  } catch {
    // Told below.
  }
  if (value?.format !== "tadpole-checkpoint" || value.version !== 1)
    throw new TrainerError("model", `${policy.id}: expected a checkpoint of format tadpole-checkpoint 1`);
  return value as CheckpointManifest;
}

/** Writes `model/` and `optimizer/` into `folder`, which appears whole; every file is proven by its hash. */
export async function layOut(artifacts: ArtifactStore, policy: PolicyRef, folder: string): Promise<LaidOut> {
  const manifest = await readManifest(artifacts, policy);
  const marker = canonicalJson(manifest);
  const found = await readFile(join(folder, CHECKPOINT_MARKER), "utf8").catch(() => null);
  if (found !== marker) {
    const partial = `${folder}.partial`;
    for (const each of [folder, partial]) await rm(each, { recursive: true, force: true });
    for (const part of ["model", "optimizer"] as const)
      for (const { path, artifact } of manifest[part]) {
        const file = join(partial, part, path);
        await mkdir(dirname(file), { recursive: true });
        await artifacts.getFile(artifact, file);
      }
    await writeFile(join(partial, CHECKPOINT_MARKER), marker);
    await rename(partial, folder);
  }
  const optimizer = manifest.optimizer.length === 0 ? null : join(folder, "optimizer");
  return { model: join(folder, "model"), optimizer };
}

/** Puts every file into the store, then the manifest that a policy is named by. */
export async function keepCheckpoint(
  artifacts: ArtifactStore,
  folder: string,
  trained: TrainedFile,
): Promise<ArtifactRef> {
  const keep = async (part: "model" | "optimizer"): Promise<CheckpointFile[]> => {
    const kept: CheckpointFile[] = [];
    for (const { path } of trained.files.toSorted((a, b) => (a.path < b.path ? -1 : 1)))
      if (path.startsWith(`${part}/`))
        kept.push({
          path: path.slice(part.length + 1),
          artifact: await artifacts.putFile(join(folder, path), "policy"),
        });
    return kept;
  };
  const manifest: CheckpointManifest = {
    ...{ format: "tadpole-checkpoint", version: 1, step: trained.step },
    ...{ model: await keep("model"), optimizer: await keep("optimizer") },
  };
  return artifacts.put(Buffer.from(canonicalJson(manifest)), "policy");
}
