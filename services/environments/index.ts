/** Real packages as environments: the catalogue, their preparation, their proof. */

export { readArchive } from "./archive.ts";
export { proveBaseline, type RunTests } from "./baseline.ts";
export { CATALOGUE_FOLDER, type Catalogue, findEntry, loadCatalogue, type PinnedEntry } from "./catalogue.ts";
export { EnvironmentError, type EnvironmentErrorKind } from "./errors.ts";
export { flakeBound } from "./flake.ts";
export { historyOverlay, withoutHistory } from "./history.ts";
export { pinImage } from "./image.ts";
export { modulesMount } from "./mount.ts";
export { loadEnvironment, prepareEnvironment } from "./prepare.ts";
export { pretrainingSources } from "./pretraining.ts";
export { environmentFiles } from "./tree.ts";
export type { CatalogueEntry, PreparedEnvironment } from "./types.ts";
export { compareRecords, verifyEnvironment } from "./verify.ts";
