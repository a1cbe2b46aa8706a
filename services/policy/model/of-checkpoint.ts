/** Templates of policies whose checkpoint is a model folder: made of its small files, once for all versions that share them. */
import type { CallFormat } from "../../../core/experiment.ts";
import type { PolicyRef } from "../../../core/policy.ts";
import { readManifest } from "../../checkpoints/index.ts";
import type { ArtifactStore } from "../../store/index.ts";
import type { PolicyTemplate } from "../template.ts";
import { TEMPLATE_FILES } from "./files.ts";
import { createModelTemplate } from "./template.ts";

/** Throws PolicyError `capability` that names the file, TrainerError `model` for a checkpoint that is none, and as `ArtifactStore.get`. */
export type TemplateOf = (policy: PolicyRef, calls: CallFormat) => Promise<PolicyTemplate>;

/** `made`, but only once per key; what failed is tried again. */
function once<T>(kept: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  const known = kept.get(key);
  if (known) return known;
  const making = make().catch((error: unknown) => {
    kept.delete(key);
    throw error;
  });
  kept.set(key, making);
  return making;
}

export function createTemplateSource(artifacts: ArtifactStore): TemplateOf {
  const byPolicy = new Map<string, Promise<PolicyTemplate>>();
  const byFiles = new Map<string, Promise<PolicyTemplate>>();
  return (policy, calls) =>
    once(byPolicy, `${policy.id} ${calls}`, async () => {
      const { model } = await readManifest(artifacts, policy);
      const used = model.filter(({ path }) => TEMPLATE_FILES.includes(path));
      const key = JSON.stringify([calls, used.map(({ path, artifact }) => [path, artifact.sha256])]);
      return once(byFiles, key, async () => {
        const contents = await Promise.all(
          used.map(async ({ path, artifact }) => {
            const bytes = await artifacts.get(artifact);
            return [path, Buffer.from(bytes).toString("utf8")] as const;
          }),
        );
        return createModelTemplate({ files: Object.fromEntries(contents), calls, where: policy.id });
      });
    });
}
