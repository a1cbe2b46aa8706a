/** Checkpoints of models: folders become manifests of artifacts, and manifests become folders that engines load. */
export { listFolders, removeFolders, type WeightsFolder } from "./folders.ts";
export { readManifest } from "./manifest.ts";
export { materialise } from "./materialise.ts";
export { packCheckpoint } from "./pack.ts";
