/** What the boxes of a Harbor task are made of: the environment's, and the verifier's where it has an image of its own. */
import { IMAGE_HINT, isImageReference } from "../../../core/images.ts";
import type { FileChange } from "../../../core/task.ts";
import { type ImageSource, ImportError, type ImportedEnvironment } from "../types.ts";
import type { BoxConfig, HarborConfig } from "./config.ts";
import { optionalFolder } from "./folder.ts";

/** Of a build where the task says nothing else; Harbor's own default. */
export const BUILD_SECONDS = 600;

export async function environmentImage(
  folder: string,
  { dockerImage, buildSeconds }: Pick<BoxConfig, "dockerImage" | "buildSeconds">,
): Promise<ImageSource> {
  const files = (await optionalFolder(folder, "environment")) ?? [];
  refuseCompose(folder, "environment", files);
  if (dockerImage !== null) return named(folder, dockerImage, "environment.docker_image");
  if (!has(files, "Dockerfile"))
    throw new ImportError(
      "field",
      { file: folder, field: "environment/Dockerfile" },
      "a Dockerfile, or environment.docker_image in task.toml",
      "neither",
    );
  return built(files, buildSeconds);
}

/** The default is left out: a task that says it is the same task as one that does not. */
const built = (files: readonly FileChange[], seconds: number | null): ImageSource => ({
  kind: "build",
  files,
  dockerfile: "Dockerfile",
  ...(seconds !== null && seconds !== BUILD_SECONDS && { timeoutSeconds: seconds }),
});

/** Null where the verifier's box is one of the environment's image. `tests` are the files of the folder of that name. */
export function verifierImage(
  folder: string,
  { verifier, environment }: Pick<HarborConfig, "verifier" | "environment">,
  tests: readonly FileChange[],
): ImageSource | null {
  if (verifier.mode === "shared") return null;
  const dockerImage = verifier.environment?.dockerImage ?? null;
  if (dockerImage !== null) return named(folder, dockerImage, "verifier.environment.docker_image");
  refuseCompose(folder, "tests", tests);
  const { buildSeconds } = verifier.environment ?? environment;
  return has(tests, "Dockerfile") ? built(tests, buildSeconds) : null;
}

/** A task's own bounds; what it leaves open is the runner's. */
export const limitsOf = ({ memoryMb, storageMb }: BoxConfig): ImportedEnvironment["limits"] => ({
  ...(memoryMb === null ? {} : { memoryMb }),
  ...(storageMb === null ? {} : { diskMb: storageMb }),
});

export const has = (files: readonly FileChange[], name: string): boolean =>
  files.some(({ path }) => path === name);

function refuseCompose(folder: string, name: string, files: readonly FileChange[]): void {
  const compose = files.find(({ path }) => /^(?:docker-)?compose\.ya?ml$/.test(path));
  if (compose !== undefined)
    throw new ImportError(
      "unsupported",
      { file: folder, field: `${name}/${compose.path}` },
      "none (several containers are not supported)",
      "one",
    );
}

function named(folder: string, reference: string, field: string): ImageSource {
  if (isImageReference(reference)) return { kind: "image", reference };
  throw new ImportError(
    "field",
    { file: folder, field: `task.toml, ${field}` },
    IMAGE_HINT,
    JSON.stringify(reference.slice(0, 200)),
  );
}
