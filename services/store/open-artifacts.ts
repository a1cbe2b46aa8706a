/** The artifact store of this machine's environment: the data folder's own, or the bucket that `TADPOLE_ARTIFACTS` names. */
import { join } from "node:path";
import { type ArtifactInventory, folderInventory } from "./artifact-folder.ts";
import { type ArtifactStore, createLocalArtifacts } from "./artifacts.ts";
import { createS3Artifacts } from "./s3-artifacts.ts";
import { openBucket } from "./s3-bucket.ts";
import { s3Inventory } from "./s3-inventory.ts";
import { cacheBytes, describeS3, s3Settings } from "./s3-settings.ts";

/** Throws ArtifactError `settings`, `unreachable`, `unwritable` or `disk-full`. */
export async function openArtifacts(
  dataFolder: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<ArtifactStore> {
  const s3 = s3Settings(env);
  if (s3 === null) return createLocalArtifacts(join(dataFolder, "artifacts"));
  return createS3Artifacts(s3, {
    cacheFolder: join(dataFolder, "artifact-cache"),
    cacheBytes: cacheBytes(env),
  });
}

/** The same store, as garbage collection sees it. Throws ArtifactError `settings`. */
export function openInventory(dataFolder: string, env: NodeJS.ProcessEnv = process.env): ArtifactInventory {
  const s3 = s3Settings(env);
  return s3 === null ? folderInventory(join(dataFolder, "artifacts")) : s3Inventory(openBucket(s3));
}

/** Where artifacts are, for people; asks the store whether it answers. Throws as `openArtifacts` does. */
export async function describeArtifacts(
  dataFolder: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const s3 = s3Settings(env);
  if (s3 === null) return join(dataFolder, "artifacts");
  cacheBytes(env);
  const bucket = openBucket(s3);
  try {
    await bucket.check();
    return describeS3(s3);
  } finally {
    bucket.close();
  }
}
