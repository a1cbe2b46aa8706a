/** Keeps a model folder as a checkpoint: each of its files an artifact, and a manifest of them that names the policy. */
import { readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { ArtifactRef } from "../../core/artifact.ts";
import type { CheckpointFile } from "../../core/checkpoint.ts";
import type { ArtifactStore } from "../store/index.ts";
import { encodeManifest } from "./manifest.ts";
import { modelFiles } from "./model-folder.ts";

export interface PackInput {
  /** In Hugging Face's layout. */
  readonly model: string;
  /** Every file below it belongs to the state; null = there is none. */
  readonly optimizer: string | null;
  readonly step: number;
}

/**
 * The manifest. The same content gives the same reference, so packing again is no other policy. Throws TrainerError `model` as `modelFiles` does,
 * and as `ArtifactStore.putFile`.
 */
export async function packCheckpoint(
  artifacts: ArtifactStore,
  { model, optimizer, step }: PackInput,
): Promise<ArtifactRef> {
  const keep = async (folder: string, paths: readonly string[]): Promise<CheckpointFile[]> => {
    const kept: CheckpointFile[] = [];
    for (const path of paths)
      kept.push({ path, artifact: await artifacts.putFile(join(folder, path), "policy") });
    return kept;
  };
  const manifest = encodeManifest({
    model: await keep(model, await modelFiles(model)),
    optimizer: optimizer === null ? [] : await keep(optimizer, await filesBelow(optimizer)),
    step,
  });
  return artifacts.put(manifest, "policy");
}

async function filesBelow(folder: string): Promise<string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  return found
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .sort();
}
