/** The manifest of the tree that is graded, computed without making it. */
import type { FileChange } from "../../core/task.ts";
import type { PreparedEnvironment } from "../environments/types.ts";
import { applyToManifest, type Manifest, scanTree } from "../sandbox/index.ts";

/** An environment's tree is never written after preparation: read once per process. */
const manifests = new Map<string, Promise<Manifest>>();

/** `overlay` must leave protected files alone (`withoutProtected`), so that equal trees have equal tests. */
export async function gradedManifest(
  environment: Pick<PreparedEnvironment, "key" | "root">,
  overlay: readonly FileChange[],
): Promise<Manifest> {
  const key = `${environment.key} ${environment.root}`;
  let base = manifests.get(key);
  if (base === undefined) {
    base = scanTree(environment.root);
    manifests.set(key, base);
    base.catch(() => manifests.delete(key));
  }
  return applyToManifest(await base, overlay);
}
