/** The optimizer's state of a parent, as the folder that a trainer reads. */
import { mkdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { PolicyRef } from "../../../core/policy.ts";
import { readManifest } from "../../checkpoints/index.ts";
import type { ArtifactStore } from "../../store/index.ts";

/** `<folder>/<policy id>`, which appears whole, every file proven by its hash; null where the checkpoint has no state. Throws as `readManifest`. */
export async function layOutState(
  artifacts: ArtifactStore,
  policy: PolicyRef,
  folder: string,
): Promise<string | null> {
  const { optimizer } = await readManifest(artifacts, policy);
  if (optimizer.length === 0) return null;
  const whole = join(folder, policy.id);
  const isThere = await stat(whole).then(
    () => true,
    () => false,
  );
  if (isThere) return whole;
  const partial = `${whole}.partial`;
  await rm(partial, { recursive: true, force: true });
  for (const { path, artifact } of optimizer) {
    const file = join(partial, path);
    await mkdir(dirname(file), { recursive: true });
    await artifacts.getFile(artifact, file);
  }
  await rename(partial, whole);
  return whole;
}
