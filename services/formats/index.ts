/** Public surface of task and trajectory formats of other projects. */
export { type AtifAgent, AtifError, atifTrajectory, type RolloutFacts } from "./atif/trajectory.ts";
export { BuildError, type BuildErrorKind, buildImage } from "./harbor/build.ts";
export { defaultImage, type HarborExport, type HarborNetwork, harborFolder } from "./harbor/export.ts";
export { harborImporter } from "./harbor/import.ts";
export { IMPORTERS } from "./importers.ts";
export { ExportError, type ExportErrorKind, type ExportMarker, writeExport, writeFiles } from "./output.ts";
export { type PreparedImport, type PrepareImportOptions, prepareImport } from "./prepare.ts";
export { type ResolveContext, type ResolvedTask, resolveTask } from "./resolve.ts";
export { readRows } from "./rows/index.ts";
export * from "./types.ts";
