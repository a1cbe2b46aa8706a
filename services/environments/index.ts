/** Real packages as environments: the catalogue, their preparation, their proof. */
export { type Baseline, proveBaseline, type RunTests } from "./baseline.ts";
export { CATALOGUE_FOLDER, type Catalogue, findEntry, loadCatalogue, type PinnedEntry } from "./catalogue.ts";
export { EnvironmentError, type EnvironmentErrorKind } from "./errors.ts";
export { flakeBound } from "./flake.ts";
export { modulesMount } from "./mount.ts";
export {
  BASELINE_RUNS,
  loadEnvironment,
  type PrepareOptions,
  prepareEnvironment,
} from "./prepare.ts";
export { pretrainingSources } from "./pretraining.ts";
export { environmentFiles } from "./tree.ts";
export type { CatalogueEntry, PreparedEnvironment } from "./types.ts";
export { compareRecords, type Verification, verifyEnvironment } from "./verify.ts";
