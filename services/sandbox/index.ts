/** Public surface of the sandbox service. */
export { type Client as DockerClient, connect as connectDocker } from "./docker/client.ts";
export { daemonMessage, statusOf } from "./docker/errors.ts";
export { daemonEvents } from "./docker/events.ts";
export { helperName } from "./docker/helper.ts";
export { ensureBaseImage } from "./docker/image.ts";
export { createDockerRuntime, type DockerRuntimeOptions } from "./docker/runtime.ts";
export { Semaphore } from "./docker/semaphore.ts";
export { type TarEntry, tar } from "./docker/tar.ts";
export { type ArchivedEntry, ArchiveError, untar } from "./docker/untar.ts";
export { examineDocker } from "./docker-check.ts";
export { type Found, listSandboxes, type Reaped, reapSandboxes } from "./host.ts";
export type { ImageCache, Pruned } from "./images/cache.ts";
export { createProcessRuntime } from "./process/runtime.ts";
export * from "./runtime.ts";
export { createHostImages, createRuntime, type HostOptions, hostRuntimes } from "./runtimes.ts";
export { applyChanges, applyToManifest, changesBetween, contentOf, encode } from "./tree/change.ts";
export { hashManifest, type Manifest, scanTree } from "./tree/manifest.ts";
