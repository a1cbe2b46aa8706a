/**
 * A bucket as garbage collection sees it. S3 renames nothing: content is taken out by a copy and a removal, between which the same content may be put
 * again. So nothing goes while a workflow runs (`ArtifactInventory.atomic`).
 */
import type { ArtifactInventory, StoredFile } from "./artifact-folder.ts";
import type { S3Bucket, StoredObject } from "./s3-bucket.ts";
import { abortUploads } from "./s3-upload.ts";

const CONTENT = /^([0-9a-f]{2})\/([0-9a-f]{62})$/;
const REMOVING = /^removing\/([0-9a-f]{64})$/;
/** An upload that was cut is gone on with by the retry of what began it: hours, not days later. */
const UPLOAD_LIFE_MS = 7 * 24 * 60 * 60 * 1000;

export function s3Inventory(bucket: S3Bucket): ArtifactInventory {
  const { keyOf, removedKeyOf } = bucket;
  const move = async (from: string, to: string, found: StoredObject) => {
    await bucket.copy(from, to, found.bytes);
    await bucket.remove(from);
  };
  return {
    atomic: false,
    async list() {
      await abortUploads(bucket, Date.now() - UPLOAD_LIFE_MS);
      const files: StoredFile[] = [];
      const removing: StoredFile[] = [];
      const unknown: string[] = [];
      for await (const { key, ...found } of bucket.list()) {
        const content = CONTENT.exec(key);
        const removed = REMOVING.exec(key);
        if (content) files.push({ sha256: `${content[1]}${content[2]}`, ...found });
        else if (removed) removing.push({ sha256: removed[1]!, ...found });
        else unknown.push(key);
      }
      return { files, removing, unknown };
    },
    isStored: async (sha256) => (await bucket.head(keyOf(sha256))) !== null,
    async takeOut(sha256, beforeMs) {
      const found = await bucket.head(keyOf(sha256));
      if (found === null || found.modifiedMs >= beforeMs) return false;
      await move(keyOf(sha256), removedKeyOf(sha256), found);
      return true;
    },
    async bringBack(sha256) {
      const found = await bucket.head(removedKeyOf(sha256));
      if (found === null) return;
      if ((await bucket.head(keyOf(sha256))) !== null) return bucket.remove(removedKeyOf(sha256));
      return move(removedKeyOf(sha256), keyOf(sha256), found);
    },
    removeTakenOut: (sha256) => bucket.remove(removedKeyOf(sha256)),
  };
}
