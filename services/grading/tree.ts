/** The hash of the tree that is graded, computed without making it. */
import type { FileChange } from "../../core/task.ts";
import type { PreparedEnvironment } from "../environments/types.ts";
import { applyToManifest, hashManifest, type Manifest, scanTree } from "../sandbox/index.ts";

/** An environment's tree is never written after preparation: read once per process. */
const manifests = new Map<string, Promise<Manifest>>();

/**
 * sha256 (hex). `overlay` must leave protected files alone (`withoutProtected`), so that equal trees have equal tests. Throws SandboxError `path`
 * for one that does not apply.
 */
export async function hashGraded(
  environment: Pick<PreparedEnvironment, "key" | "root">,
  overlay: readonly FileChange[],
): Promise<string> {
  const key = `${environment.key} ${environment.root}`;
  let base = manifests.get(key);
  if (base === undefined) {
    base = scanTree(environment.root);
    manifests.set(key, base);
    base.catch(() => manifests.delete(key));
  }
  return hashManifest(applyToManifest(await base, overlay));
}
