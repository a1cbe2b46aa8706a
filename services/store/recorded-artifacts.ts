/** An artifact store that keeps a row per artifact: what exists, of which kind, since when. */
import type { ArtifactRef } from "../../core/artifact.ts";
import type { ArtifactStore } from "./artifacts.ts";
import { type Executor, upsert } from "./rows.ts";

/** The row is written after the content is durable, so it never names what is not there; a lost row comes back with the next put. */
export function recordedArtifacts(store: ArtifactStore, db: Executor): ArtifactStore {
  const { path } = store;
  const recorded = async (ref: ArtifactRef): Promise<ArtifactRef> => {
    await upsert(db, "artifacts", { ...ref }, ["sha256"]);
    return ref;
  };
  return {
    put: async (bytes, kind) => recorded(await store.put(bytes, kind)),
    putFile: async (file, kind) => recorded(await store.putFile(file, kind)),
    get: (ref) => store.get(ref),
    getFile: (ref, file) => store.getFile(ref, file),
    ...(path ? { path: (ref) => path(ref) } : {}),
  };
}
