/** Public surface of the sandbox service. */
export { createProcessRuntime } from "./process/runtime.ts";
export * from "./runtime.ts";
export { createRuntime, type HostOptions } from "./runtimes.ts";
export { applyChanges, applyToManifest, changesBetween, encode } from "./tree/change.ts";
export { hashManifest, type Manifest, scanTree } from "./tree/manifest.ts";
