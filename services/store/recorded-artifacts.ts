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
    ...(path ? { path: (ref) => path(ref) } : {}),
  };
}
