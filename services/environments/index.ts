/** Real packages as environments: the catalogue, their preparation, their proof. */

export { type AddOptions, addEnvironment } from "./add.ts";
export { addedNames, loadEntries, removeEnvironment } from "./added.ts";
export { readArchive } from "./archive.ts";
export { proveBaseline, type RunTests } from "./baseline.ts";
export { boxSpec } from "./box.ts";
export { CATALOGUE_FOLDER, type Catalogue, findEntry, loadCatalogue, type PinnedEntry } from "./catalogue.ts";
export {
  type ChangedPath,
  type Commit,
  type History,
  hasCommits,
  historyOf,
  historyOfPrepared,
} from "./commits.ts";
export { archiveAt, type Container, commit, locateImage, runToEnd, withContainer } from "./container.ts";
export { partOf, type TreeLanguage } from "./detect.ts";
export { EnvironmentError, type EnvironmentErrorKind } from "./errors.ts";
export { flakeBound } from "./flake.ts";
export { runtimeFolder } from "./folders.ts";
export { commandsOf as commandsOfEntry, languageOf as languageOfEntry } from "./frameworks.ts";
export { historyOverlay, withoutHistory } from "./history.ts";
export { type NoteImage, pinImage } from "./image.ts";
export { modulesMount } from "./mount.ts";
export { isAtOrBelow } from "./paths.ts";
export { loadEnvironment, prepareEnvironment } from "./prepare.ts";
export { pretrainingSources } from "./pretraining.ts";
export { type ReleasesOptions, releasesRepository } from "./releases.ts";
export { runtimesOf } from "./sources.ts";
export { environmentFiles, isProgram, readTree, type Tree } from "./tree.ts";
export type { CatalogueEntry, Framework, PreparedEnvironment } from "./types.ts";
export { compareRecords, type Verification, verifyEnvironment } from "./verify.ts";
