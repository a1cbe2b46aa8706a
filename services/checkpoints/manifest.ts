/** The manifest that names a policy of an engine kind: read, and refused where it is none. */
import { z } from "zod";
import { canonicalJson } from "../../core/canonical.ts";
import type { CheckpointManifest } from "../../core/checkpoint.ts";
import type { PolicyRef } from "../../core/policy.ts";
import type { ArtifactStore } from "../store/index.ts";
import { TrainerError } from "../trainers/errors.ts";

/** Names stay inside their folder whatever manifest names them. */
export function isSafePath(path: string): boolean {
  const parts = path.split("/");
  return (
    !path.includes("\\") && !path.includes("\0") && parts.every((part) => !["", ".", ".."].includes(part))
  );
}

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const file = z.strictObject({
  path: z.string().refine(isSafePath, "expected a path below the folder"),
  artifact: z.strictObject({
    uri: z.string(),
    sha256,
    bytes: z.int().min(0),
    kind: z.literal("policy"),
  }),
});
const schema = z.strictObject({
  format: z.literal("tadpole-checkpoint"),
  version: z.literal(1),
  model: z.array(file).min(1),
  optimizer: z.array(file),
  step: z.int().min(0),
});

/** Throws TrainerError `model` for bytes that are no manifest, and as `ArtifactStore.get`. */
export async function readManifest(artifacts: ArtifactStore, policy: PolicyRef): Promise<CheckpointManifest> {
  const bytes = await artifacts.get(policy.checkpoint);
  const refuse = (why: string) =>
    new TrainerError("model", `${policy.id}: its checkpoint ${policy.checkpoint.sha256} ${why}`);
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch {
    throw refuse("is no manifest of a model's files");
  }
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const [issue] = error.issues;
  throw refuse(`is no manifest of a model's files: ${issue?.path.join(".")}: ${issue?.message}`);
}

/** Equal content gives equal bytes, whatever order its files were found in. */
export function encodeManifest({ model, optimizer, step }: Omit<CheckpointManifest, "format" | "version">) {
  const byPath = (files: CheckpointManifest["model"]) =>
    [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  const manifest: CheckpointManifest = {
    format: "tadpole-checkpoint",
    version: 1,
    model: byPath(model),
    optimizer: byPath(optimizer),
    step,
  };
  return Buffer.from(canonicalJson(manifest));
}
