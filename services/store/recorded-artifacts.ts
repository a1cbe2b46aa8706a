/** An artifact store that keeps a row per artifact: what exists, of which kind, since when. */
import type { ArtifactStore } from "./artifacts.ts";
import { type Executor, upsert } from "./rows.ts";

/** The row is written after the content is durable, so it never names what is not there; a lost row comes back with the next put. */
export function recordedArtifacts(store: ArtifactStore, db: Executor): ArtifactStore {
  const { path } = store;
  return {
    async put(bytes, kind) {
      const ref = await store.put(bytes, kind);
      await upsert(db, "artifacts", { ...ref }, ["sha256"]);
      return ref;
    },
    get: (ref) => store.get(ref),
    has: (sha256) => store.has(sha256),
    async remove(ref) {
      await db.deleteFrom("artifacts").where("sha256", "=", ref.sha256).execute();
      await store.remove(ref);
    },
    ...(path ? { path: (ref) => path(ref) } : {}),
  };
}
