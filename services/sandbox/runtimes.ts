/** The runtimes of this host, by name, and the images it was brought. */
import { join } from "node:path";
import { SANDBOX_RUNTIMES, type SandboxRuntimeName } from "../../core/experiment.ts";
import { connect } from "./docker/client.ts";
import { baseImageTag } from "./docker/image.ts";
import { createDockerRuntime } from "./docker/runtime.ts";
import { createImageCache, type ImageCache, imagesFolder } from "./images/cache.ts";
import { withPreflight } from "./preflight.ts";
import { createProcessRuntime } from "./process/runtime.ts";
import type { SandboxRuntime } from "./runtime.ts";

export interface HostOptions {
  readonly dataFolder: string;
  /** The Node that runs inside. */
  readonly nodePath: string;
  /** MiB of free disk below which nothing boots and nothing is pulled; default 0. */
  readonly minFreeMb?: number;
  /** Bound of the images that Tadpole brought; default 20 GiB. */
  readonly imageCacheMb?: number;
  /** Progress of making the base image, a line at a time. */
  readonly say?: (line: string) => void;
}

const IMAGE_CACHE_MB = 20 * 1024;
const MEGABYTE = 2 ** 20;

/** Nothing is started or looked at yet. */
export function createRuntime(name: SandboxRuntimeName, options: HostOptions): SandboxRuntime {
  const { dataFolder, nodePath, minFreeMb = 0, say } = options;
  switch (name) {
    case "process": {
      const root = join(dataFolder, "sandboxes");
      return withPreflight(createProcessRuntime({ root, nodePath }), {
        disks: async () => [root],
        minFreeMb,
      });
    }
    case "docker": {
      const root = join(dataFolder, "docker", "sandboxes");
      let images: Promise<string | null> | undefined;
      return withPreflight(createDockerRuntime({ root, nodePath, ...(say && { say }) }), {
        disks: async () => {
          images ??= imagesFolder(connect());
          images.catch(() => {
            images = undefined;
          });
          const folder = await images;
          return folder === null ? [root] : [root, folder];
        },
        minFreeMb,
        onImageUsed: (reference) => createHostImages(options).used(reference),
      });
    }
  }
}

/** All of them, whether they work here or not. */
export const hostRuntimes = (options: HostOptions): readonly SandboxRuntime[] =>
  SANDBOX_RUNTIMES.map((name) => createRuntime(name, options));

/** What Tadpole brought to this host's Docker daemon for this data folder. */
export const createHostImages = ({
  dataFolder,
  minFreeMb = 0,
  imageCacheMb = IMAGE_CACHE_MB,
}: HostOptions): ImageCache =>
  createImageCache({
    folder: join(dataFolder, "docker", "images"),
    maxBytes: imageCacheMb * MEGABYTE,
    minFreeMb,
    pinned: [baseImageTag()],
  });
